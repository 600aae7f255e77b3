//! Clients that hold one continuation: of a logical partition, or of what the server serves or merges itself.

use model::Value;

use crate::queries::Class;
use crate::support::Answer;
use crate::world::World;

const PAGES_MAX: usize = 5000;

/// Reads pages to the end; `ask` sends one request with the continuation in the client's options.
async fn pages(
    world: &mut World,
    text: &str,
    ask: impl AsyncFn(&crate::support::Client) -> Answer,
) -> Option<Vec<Value>> {
    let items_max = world.page_size();
    let (mut rows, mut continuation) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let client = world.client.with_options(|options| {
            options.items_max = Some(items_max);
            options.continuation.clone_from(&continuation);
        });
        let answer = ask(&client).await;
        if answer.status.code == 400 && continuation.is_none() {
            return None;
        }
        let answer = answer.expect(200);
        assert!(answer.rows.len() <= items_max as usize, "{text}");
        rows.extend(answer.rows);
        continuation = answer.facts.continuation;
        if continuation.is_none() {
            return Some(rows);
        }
        world.between_pages().await;
    }
    panic!("{text} does not end");
}

pub(crate) async fn by_key(world: &mut World, class: &Class, key: &str) -> Vec<Value> {
    let ask = async |client: &crate::support::Client| {
        client.items().key(key).query_with(class.text, false).await
    };
    pages(world, class.text, ask).await.expect("a key needs no merging")
}

/// The key is in the filter only: the server finds out that one logical partition holds all there is. `None` for
/// aggregates that are no `VALUE`, which need the key beside the text.
pub(crate) async fn by_filter(world: &mut World, class: &Class, key: &str) -> Option<Vec<Value>> {
    let value = key.trim_matches(['[', ']']);
    let text = class.text.replace("WHERE c.s", &format!("WHERE c.s AND c.pk = {value}"));
    let ask = async |client: &crate::support::Client| client.items().query(&text).await;
    pages(world, &text, ask).await
}

/// `None` for queries that need merging.
pub(crate) async fn whole(world: &mut World, class: &Class) -> Option<Vec<Value>> {
    let ask = async |client: &crate::support::Client| client.items().query(class.text).await;
    pages(world, class.text, ask).await
}

pub(crate) async fn merged(world: &mut World, class: &Class) -> Option<Vec<Value>> {
    let ask =
        async |client: &crate::support::Client| client.items().query_merged(class.text, 2).await;
    let rows = pages(world, class.text, ask).await;
    assert!(rows.is_some(), "{} is refused", class.text);
    rows
}
