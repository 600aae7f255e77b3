//! A part of a hierarchical key: one range has all of it at first, and then several.

use model::RangeId;

use crate::support::{Client, link};

const CONTAINER: &str =
    r#"{"id":"c","partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}}"#;
const C: &str = "dbs/d/colls/c";

async fn filled() -> Client {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", CONTAINER).await.expect(201);
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","t":"tenant","u":"{}","n":{}}}"#, n % 20, n * 7 % 40);
        client.items().create(&body).await.expect(201);
    }
    client
}

#[tokio::test]
async fn a_query_by_a_part_of_a_key_goes_on_when_its_range_splits() {
    for (text, is_ordered) in [
        ("SELECT VALUE c.n FROM c ORDER BY c.n", true),
        ("SELECT VALUE c.n FROM c", false),
        ("SELECT DISTINCT VALUE c.n FROM c", false),
    ] {
        let client = filled().await;
        let (mut rows, mut continuation, mut n_pages) = (Vec::new(), None, 0);
        loop {
            let page = client.with_options(|options| {
                options.items_max = Some(6);
                options.continuation = continuation.take();
            });
            let page = page.items().key(r#"["tenant"]"#).query_with(text, false).await.expect(200);
            rows.extend(page.rows.iter().map(|row| row.as_i64().unwrap()));
            continuation = page.facts.continuation;
            n_pages += 1;
            if continuation.is_none() {
                break;
            }
            if n_pages < 3 {
                let ranges = client.account.describe_ranges(&link(C)).unwrap();
                for range in ranges {
                    split(&client, range.id).await;
                }
            }
        }
        assert!(client.account.describe_ranges(&link(C)).unwrap().len() > 2);
        if !is_ordered {
            rows.sort_unstable();
        }
        assert_eq!(rows, (0..40).collect::<Vec<_>>(), "{text}");
    }
}

async fn split(client: &Client, range: RangeId) {
    let id = client.account.start_split(&link(C), range, None).unwrap();
    let status = client.account.wait_for_relocation(id).await.unwrap();
    assert!(status.end.is_some(), "{status:?}");
}
