//! The accounts, the procedures, and what must hold between cycles.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::client::Client;
use crate::client::{Account, Connection, Request};
use crate::crash::CONTAINER;

pub(super) const ACCOUNTS: u64 = 12;
const OPENING: i64 = 1_000;
pub(super) const KEY: &str = "bank";

/// What all balances add up to, at every moment.
pub(super) const TOTAL: i64 = OPENING * ACCOUNTS.cast_signed();

const TRANSFER: &str = r"function (client, from, to, amount) {
    var all = __, link = all.getAltLink() + '/docs/';
    function change(id, by, then) {
        var accepted = all.readDocument(link + id, function (err, item) {
            if (err) throw err;
            by(item);
            var done = all.replaceDocument(item._self, item, { etag: item._etag }, function (err) {
                if (err) throw err;
                then();
            });
            if (!done) throw new Error('not accepted');
        });
        if (!accepted) throw new Error('not accepted');
    }
    // The receiver first: a transfer without cover has written by the time it fails.
    change(to, function (item) { item.balance += amount; }, function () {
        change(client, function (item) { item.n += 1; }, function () {
            change(from, function (item) {
                item.balance -= amount;
                if (item.balance < 0) throw new Error('no cover');
            }, function () { all.response.setBody('done'); });
        });
    });
}";

const SUM: &str = r"function () {
    var sum = 0, n = 0;
    var result = __.filter(function (item) { return item.kind === 'account'; }, { pageSize: -1 },
        function (err, items) {
            if (err) throw err;
            items.forEach(function (item) { sum += item.balance; n += 1; });
            __.response.setBody([n, sum]);
        });
    if (!result.isAccepted) throw new Error('not accepted');
}";

/// Opens the accounts and adds the procedures.
pub(super) async fn open(account: &Account, n_clients: u32) -> Result<()> {
    let mut connection = Connection::open(&account.authority).await?;
    for (id, body) in [("transfer", TRANSFER), ("sum", SUM)] {
        let script = json!({"id": id, "body": body}).to_string();
        let request = Request::new("POST", format!("{CONTAINER}/sprocs")).body(script);
        connection.call(account, &request).await?.expect_success("procedure")?;
    }
    let accounts = (0..ACCOUNTS)
        .map(|n| json!({"id": account_id(n), "pk": KEY, "kind": "account", "balance": OPENING}));
    let counters =
        (0..n_clients).map(|n| json!({"id": client_id(n), "pk": KEY, "kind": "client", "n": 0}));
    for item in accounts.chain(counters) {
        let request = Request::new("POST", format!("{CONTAINER}/docs"));
        let request = request.partition_key(KEY).body(item.to_string());
        connection.call(account, &request).await?.expect_success("opening")?;
    }
    Ok(())
}

pub(super) fn account_id(n: u64) -> String {
    format!("account-{n}")
}

pub(super) fn client_id(n: u32) -> String {
    format!("client-{n}")
}

/// Settles what was in flight by what is there, and compares every balance.
pub(super) async fn verify(account: &Account, clients: &mut [Client]) -> Result<()> {
    let mut connection = Connection::open(&account.authority).await?;
    let mut balances = vec![OPENING; usize::try_from(ACCOUNTS)?];
    for client in clients {
        let counter = read(&mut connection, account, &client_id(client.number())).await?;
        let n = counter["n"].as_u64().context("a counter without a number")?;
        client.settle(usize::try_from(n)?)?;
        for transfer in client.done() {
            balances[usize::try_from(transfer.from)?] -= transfer.amount;
            balances[usize::try_from(transfer.to)?] += transfer.amount;
        }
    }
    for (n, expected) in (0..).zip(balances) {
        let item = read(&mut connection, account, &account_id(n)).await?;
        let found = item["balance"].as_i64();
        ensure!(found == Some(expected), "{}: {found:?} instead of {expected}", account_id(n));
    }
    Ok(())
}

async fn read(connection: &mut Connection, account: &Account, id: &str) -> Result<Value> {
    let request = Request::new("GET", format!("{CONTAINER}/docs/{id}")).partition_key(KEY);
    connection.call(account, &request).await?.expect_success(id)?.json()
}
