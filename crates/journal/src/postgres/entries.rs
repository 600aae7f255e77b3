//! The statements of journals and entries, but for appends (`lanes.rs`).

use bytes::Bytes;
use tokio_postgres::Row;

use super::connection::{Connection, Failed};
use super::{signed, unsigned};
use crate::{
    Chain, Entry, Epoch, Error, JournalId, JournalRow, Last, Open, Opened, Position, ProvenLook,
    ReadEntries, Result, SessionId,
};

// Limit: rows of one read, however small they are.
const READ_ROWS_MAX: i64 = 512;
/// Entries that one statement of a trim or a removal deletes; fewer when that takes too long.
const SLICE: i64 = 1_000;

pub(super) async fn create(connection: &mut Connection, journal: JournalId) -> Result<()> {
    let text = "INSERT INTO orrery.journal (id, epoch, holder, sealed) VALUES ($1, 0, 0, 0) \
                ON CONFLICT DO NOTHING";
    connection.run(text, &[&signed(journal.get())]).await?;
    Ok(())
}

/// The row goes first: from then on no append finds it, so the entries behind it cannot grow.
pub(super) async fn remove(connection: &mut Connection, journal: JournalId) -> Result<()> {
    let id = signed(journal.get());
    connection.run("DELETE FROM orrery.journal WHERE id = $1", &[&id]).await?;
    delete_entries(connection, journal, i64::MAX).await?;
    super::bases::remove_before(connection, journal, i64::MAX).await
}

pub(super) async fn open(connection: &mut Connection, open: Open) -> Result<Option<Opened>> {
    raise(connection, open.journal, open.seen, open.holder, 0).await
}

pub(super) async fn seal(
    connection: &mut Connection,
    journal: JournalId,
    epoch: Epoch,
    name: u64,
) -> Result<Option<Opened>> {
    raise(connection, journal, epoch, SessionId::NOBODY, name).await
}

/// One message, so that a client that is stopped in between does not sit on the row; two statements, because only the
/// snapshot of a second one has the append that the first one waited for. All parameters are numbers.
async fn raise(
    connection: &mut Connection,
    journal: JournalId,
    seen: Epoch,
    holder: SessionId,
    sealed: u64,
) -> Result<Option<Opened>> {
    let message = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         UPDATE orrery.journal SET epoch = epoch + 1, holder = {holder}, sealed = {sealed} \
         WHERE id = {journal} AND epoch = {seen} AND sealed = 0 RETURNING epoch; \
         SELECT number, epoch, chain FROM orrery.entry WHERE journal = {journal} \
         ORDER BY number DESC LIMIT 1; \
         COMMIT",
        sealed = signed(sealed)
    );
    let rows = connection.run_message(&message).await?;
    let mut epoch = None;
    let mut last = Last::none(journal);
    for row in rows {
        let numbers: Option<Vec<i64>> = row.iter().map(|it| it.as_deref()?.parse().ok()).collect();
        match numbers.as_deref() {
            Some([raised]) => epoch = Some(Epoch::new(unsigned(*raised))),
            Some([number, epoch, chain]) => last = last_of(*number, *epoch, *chain),
            _ => return Err(Error::InDoubt("an open with rows that cannot be read".into())),
        }
    }
    Ok(epoch.map(|epoch| Opened { epoch, last }))
}

pub(super) async fn unseal(
    connection: &mut Connection,
    journal: JournalId,
    name: u64,
) -> Result<bool> {
    let text = "UPDATE orrery.journal SET sealed = 0 WHERE id = $1 AND sealed = $2 RETURNING id";
    let rows = connection.run(text, &[&signed(journal.get()), &signed(name)]).await?;
    Ok(!rows.is_empty())
}

/// The lengths are summed up before any bytes are fetched.
pub(super) async fn read(
    connection: &mut Connection,
    journal: JournalId,
    from: u64,
    bytes_max: usize,
) -> Result<ReadEntries> {
    let text = "
SELECT number, epoch, chain, bytes FROM (
  SELECT *, sum(octet_length(bytes)) OVER (ORDER BY number) AS total FROM (
    SELECT number, epoch, chain, bytes FROM orrery.entry WHERE journal = $1 AND number >= $2
    ORDER BY number LIMIT $3) next) counted
WHERE total <= $4 OR number = $2 ORDER BY number";
    let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    let from = signed(from);
    let rows = look(
        connection.run(text, &[&signed(journal.get()), &from, &READ_ROWS_MAX, &bytes_max]).await,
    )?;
    let entries: Vec<Entry> =
        rows.iter().map(entry_of).collect::<Result<_, _>>().map_err(unreadable)?;
    let is_trimmed = |first: &Entry| first.position.number != unsigned(from);
    if entries.first().is_some_and(is_trimmed) {
        return Ok(ReadEntries::Trimmed);
    }
    if entries.is_empty() {
        return after_end(connection, journal, from).await;
    }
    let is_gap = |pair: &[Entry]| pair[0].position.number + 1 != pair[1].position.number;
    if let Some(pair) = entries.windows(2).find(|pair| is_gap(pair)) {
        return Err(Error::Corrupt(format!(
            "journal {journal}: nothing follows {}",
            pair[0].position
        )));
    }
    Ok(ReadEntries::Entries(entries))
}

/// No row was found: beyond the end, or the first one that is left is larger than what may be read and not the one.
async fn after_end(
    connection: &mut Connection,
    journal: JournalId,
    from: i64,
) -> Result<ReadEntries> {
    let text = "SELECT number FROM orrery.entry WHERE journal = $1 AND number >= $2 \
                ORDER BY number LIMIT 1";
    let rows = look(connection.run(text, &[&signed(journal.get()), &from]).await)?;
    match rows.first() {
        Some(row) if row.try_get::<_, i64>(0).map_err(unreadable)? > from => {
            Ok(ReadEntries::Trimmed)
        }
        // It has come since.
        _ => Ok(ReadEntries::Entries(Vec::new())),
    }
}

pub(super) async fn last(connection: &mut Connection, journal: JournalId) -> Result<Option<Last>> {
    let text = "
SELECT e.number, e.epoch, e.chain FROM orrery.journal j LEFT JOIN LATERAL (
  SELECT number, epoch, chain FROM orrery.entry WHERE journal = j.id ORDER BY number DESC LIMIT 1
) e ON true WHERE j.id = $1";
    let rows = look(connection.run(text, &[&signed(journal.get())]).await)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let number: Option<i64> = row.try_get(0).map_err(unreadable)?;
    Ok(Some(match number {
        None => Last::none(journal),
        Some(number) => last_of(
            number,
            row.try_get(1).map_err(unreadable)?,
            row.try_get(2).map_err(unreadable)?,
        ),
    }))
}

/// One transaction that writes: its commit record lies behind those of everything it shows, and so does the standby's.
pub(super) async fn prove(
    connection: &mut Connection,
    journal: JournalId,
    number: u64,
    session: SessionId,
) -> Result<Option<ProvenLook>> {
    let message = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; \
         UPDATE orrery.member SET beat = beat + 1 WHERE session = {session} AND NOT ended \
         RETURNING beat; \
         SELECT epoch, holder, sealed, (SELECT chain FROM orrery.entry \
         WHERE journal = {journal} AND number = {number}) FROM orrery.journal WHERE id = {journal}; \
         SELECT number, epoch, chain FROM orrery.entry WHERE journal = {journal} \
         ORDER BY number DESC LIMIT 1; \
         COMMIT",
        number = signed(number)
    );
    let rows = connection.run_message(&message).await?;
    let (mut has_beaten, mut found) = (false, None);
    let mut last = Last::none(journal);
    for row in rows {
        let numbers: Vec<Option<i64>> =
            row.iter().map(|it| it.as_deref().and_then(|it| it.parse().ok())).collect();
        match numbers.as_slice() {
            [Some(_)] => has_beaten = true,
            [Some(epoch), Some(holder), Some(sealed), chain] => {
                let row = JournalRow {
                    journal,
                    epoch: Epoch::new(unsigned(*epoch)),
                    holder: SessionId::new(unsigned(*holder)),
                    sealed: unsigned(*sealed),
                };
                found = Some((row, chain.map(|it| Chain::new(unsigned(it)))));
            }
            [Some(number), Some(epoch), Some(chain)] => last = last_of(*number, *epoch, *chain),
            _ => return Err(Error::Corrupt("a look with rows that cannot be read".into())),
        }
    }
    let start = (number == 0).then(|| Chain::start(journal));
    let look = |(row, chain): (JournalRow, Option<Chain>)| ProvenLook {
        row,
        last,
        chain: start.or(chain),
    };
    Ok(found.filter(|_| has_beaten).map(look))
}

pub(super) async fn chain_at(
    connection: &mut Connection,
    journal: JournalId,
    number: u64,
) -> Result<Option<Chain>> {
    if number == 0 {
        return Ok(Some(Chain::start(journal)));
    }
    let text = "SELECT chain FROM orrery.entry WHERE journal = $1 AND number = $2";
    let rows = look(connection.run(text, &[&signed(journal.get()), &signed(number)]).await)?;
    let chain = |row: &Row| row.try_get(0).map(|it| Chain::new(unsigned(it))).map_err(unreadable);
    rows.first().map(chain).transpose()
}

pub(super) async fn trim(connection: &mut Connection, journal: JournalId) -> Result<u64> {
    let text = "SELECT number FROM orrery.base WHERE journal = $1 AND confirmed > 0 \
                ORDER BY number DESC OFFSET 1 LIMIT 1";
    let rows = look(connection.run(text, &[&signed(journal.get())]).await)?;
    let Some(row) = rows.first() else { return Ok(0) };
    let keep: i64 = row.try_get(0).map_err(unreadable)?;
    let text = "SELECT max(number) FROM orrery.entry WHERE journal = $1";
    let rows = look(connection.run(text, &[&signed(journal.get())]).await)?;
    let end: Option<i64> =
        rows.first().map_or(Ok(None), |row| row.try_get(0)).map_err(unreadable)?;
    // The last entry stays: the next one must find what it continues.
    let through = keep.min(end.unwrap_or(0) - 1);
    let n_trimmed = delete_entries(connection, journal, through).await?;
    super::bases::remove_before(connection, journal, keep).await?;
    Ok(n_trimmed)
}

/// Deletes entries up to this number, in slices: no long transaction, and none longer than the engine allows.
async fn delete_entries(
    connection: &mut Connection,
    journal: JournalId,
    through: i64,
) -> Result<u64> {
    let text = "
WITH gone AS (
  DELETE FROM orrery.entry WHERE journal = $1 AND number <= $2 AND number < $4 + $3::bigint
  RETURNING number)
SELECT count(*) FROM gone";
    let id = signed(journal.get());
    let mut slice = SLICE;
    let mut n_deleted = 0;
    loop {
        let first = "SELECT min(number) FROM orrery.entry WHERE journal = $1";
        let rows = look(connection.run(first, &[&id]).await)?;
        let first: Option<i64> =
            rows.first().map_or(Ok(None), |row| row.try_get(0)).map_err(unreadable)?;
        let Some(first) = first.filter(|first| *first <= through) else { return Ok(n_deleted) };
        match connection.run(text, &[&id, &through, &slice, &first]).await {
            Ok(rows) => {
                let n: i64 =
                    rows.first().map_or(Ok(0), |row| row.try_get(0)).map_err(unreadable)?;
                n_deleted += unsigned(n);
            }
            // Large entries and a short time limit: fewer at once.
            Err(Failed::NotDone(_)) if slice > 1 && connection.is_usable() => slice /= 2,
            Err(failed) => return Err(failed.into()),
        }
    }
}

pub(super) async fn rows(
    connection: &mut Connection,
    after: JournalId,
    rows_max: usize,
) -> Result<Vec<JournalRow>> {
    let text = "SELECT id, epoch, holder, sealed FROM orrery.journal WHERE id > $1 \
                ORDER BY id LIMIT $2";
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let rows = look(connection.run(text, &[&signed(after.get()), &rows_max]).await)?;
    rows.iter().map(row_of).collect::<Result<_, _>>().map_err(unreadable)
}

pub(super) async fn row(
    connection: &mut Connection,
    journal: JournalId,
) -> Result<Option<JournalRow>> {
    let text = "SELECT id, epoch, holder, sealed FROM orrery.journal WHERE id = $1";
    let rows = look(connection.run(text, &[&signed(journal.get())]).await)?;
    rows.first().map(row_of).transpose().map_err(unreadable)
}

/// A statement that changes nothing has done nothing, whatever became of it.
pub(super) fn look(answer: Result<Vec<Row>, Failed>) -> Result<Vec<Row>> {
    answer.map_err(|failed| match failed {
        Failed::NotDone(why) | Failed::InDoubt(why) => Error::Unavailable(why),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to map_err")]
pub(super) fn unreadable(error: tokio_postgres::Error) -> Error {
    Error::Corrupt(error.to_string())
}

fn last_of(number: i64, epoch: i64, chain: i64) -> Last {
    let position = Position { number: unsigned(number), chain: Chain::new(unsigned(chain)) };
    Last { position, epoch: Epoch::new(unsigned(epoch)) }
}

fn entry_of(row: &Row) -> Result<Entry, tokio_postgres::Error> {
    let Last { position, epoch } = last_of(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let bytes: Vec<u8> = row.try_get(3)?;
    Ok(Entry { position, epoch, bytes: Bytes::from(bytes) })
}

fn row_of(row: &Row) -> Result<JournalRow, tokio_postgres::Error> {
    let column = |index| row.try_get::<_, i64>(index).map(unsigned);
    Ok(JournalRow {
        journal: JournalId::new(column(0)?),
        epoch: Epoch::new(column(1)?),
        holder: SessionId::new(column(2)?),
        sealed: column(3)?,
    })
}
