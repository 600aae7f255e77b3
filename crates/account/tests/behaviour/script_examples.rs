//! The stored procedures in `examples/scripts/` do what they say.

use account::ItemAction;
use bytes::Bytes;
use model::Value;

use crate::support::{Answer, Client, value};

const KEY: &str = r#"["a"]"#;

async fn client() -> Client {
    let client = Client::with_container(2).await;
    let examples = [
        ("bulk_import", include_str!("../../../../examples/scripts/bulk_import.js")),
        ("bulk_delete", include_str!("../../../../examples/scripts/bulk_delete.js")),
        ("update_by_query", include_str!("../../../../examples/scripts/update_by_query.js")),
        ("sum", include_str!("../../../../examples/scripts/sum.js")),
        ("swap", include_str!("../../../../examples/scripts/swap.js")),
    ];
    for (id, body) in examples {
        let body = Value::from(body).to_text();
        let text = format!(r#"{{"id":"{id}","body":{body}}}"#);
        client.create("dbs/d/colls/c/sprocs", &text).await.expect(201);
    }
    client
}

async fn execute(client: &Client, procedure: &str, arguments: &str) -> Answer {
    let action = ItemAction::Execute {
        procedure: procedure.to_owned(),
        arguments: Bytes::copy_from_slice(arguments.as_bytes()),
        wants_log: false,
    };
    client.items().key(KEY).run(action).await
}

/// Items `0` to `n - 1`, `n` of each its number, half of them even.
async fn import(client: &Client, n: u32) {
    let items: Vec<String> = (0..n)
        .map(|n| format!(r#"{{"id":"{n}","pk":"a","n":{n},"even":{}}}"#, n % 2 == 0))
        .collect();
    let done = execute(client, "bulk_import", &format!("[[{}]]", items.join(","))).await;
    assert_eq!(done.expect(200).value.as_i64(), Some(i64::from(n)));
}

#[tokio::test]
async fn bulk_import_writes_all_or_nothing() {
    let client = client().await;
    import(&client, 300).await;
    assert_eq!(
        client.items().key(KEY).query("SELECT VALUE COUNT(1) FROM c").await.rows,
        [value("300")]
    );
    let again = r#"[[{"id":"new","pk":"a"},{"id":"7","pk":"a"}]]"#;
    execute(&client, "bulk_import", again).await.expect(409);
    client.items().key(KEY).read("new").await.expect(404);
    let overwriting = r#"[[{"id":"new","pk":"a"},{"id":"7","pk":"a"}], true]"#;
    assert_eq!(
        execute(&client, "bulk_import", overwriting).await.expect(200).value.as_i64(),
        Some(2)
    );
    execute(&client, "bulk_import", "[5]").await.expect_sub(400, 400);
}

#[tokio::test]
async fn bulk_delete_goes_on_where_it_stopped() {
    let client = client().await;
    import(&client, 250).await;
    let some = execute(&client, "bulk_delete", r#"["SELECT * FROM c WHERE c.even", 30]"#).await;
    assert_eq!(some.expect(200).value.to_text(), r#"{"deleted":30,"more":true}"#);
    let rest = execute(&client, "bulk_delete", r#"["SELECT * FROM c WHERE c.even"]"#).await;
    assert_eq!(rest.expect(200).value.to_text(), r#"{"deleted":95,"more":false}"#);
    assert_eq!(
        client.items().key(KEY).query("SELECT VALUE COUNT(1) FROM c").await.rows,
        [value("125")]
    );
}

#[tokio::test]
async fn update_by_query_sets_properties() {
    let client = client().await;
    import(&client, 250).await;
    let done = execute(
        &client,
        "update_by_query",
        r#"["SELECT * FROM c WHERE c.n >= 100", {"big": true}]"#,
    )
    .await;
    assert_eq!(done.expect(200).value.to_text(), r#"{"updated":150,"continuation":null}"#);
    let query = "SELECT VALUE COUNT(1) FROM c WHERE c.big";
    assert_eq!(client.items().key(KEY).query(query).await.rows, [value("150")]);
}

#[tokio::test]
async fn sum_adds_up_over_pages() {
    let client = client().await;
    import(&client, 250).await;
    let all = execute(&client, "sum", r#"["n"]"#).await.expect(200);
    assert_eq!(all.value.to_text(), r#"{"count":250,"sum":31125,"min":0,"max":249}"#);
    let even = execute(&client, "sum", r#"["n", "even", true]"#).await.expect(200);
    assert_eq!(even.value.to_text(), r#"{"count":125,"sum":15500,"min":0,"max":248}"#);
}

#[tokio::test]
async fn swap_changes_both_or_neither() {
    let client = client().await;
    import(&client, 4).await;
    let swapped = execute(&client, "swap", r#"["1", "2", "n"]"#).await.expect(200);
    let n = |item: &Value| item.get("n").unwrap().as_i64().unwrap();
    assert_eq!(swapped.value.as_array().unwrap().iter().map(n).collect::<Vec<_>>(), [2, 1]);
    let read =
        |id: &'static str| async { n(&client.items().key(KEY).read(id).await.expect(200).value) };
    assert_eq!((read("1").await, read("2").await), (2, 1));
    execute(&client, "swap", r#"["1", "none", "n"]"#).await.expect(404);
    assert_eq!(read("1").await, 2);
}
