//! A client that asks each range itself and keeps a token for each. When a range is gone it gives the token of before
//! to all ranges that took its place, cut to the span that it had been reading.

use model::{Epk, EpkRange, PartitionKeyDefinition, Value, order};

use crate::client::{merge_rows, text_for_ranges};
use crate::queries::Class;
use crate::support::{self, Answer};
use crate::world::World;

const REQUESTS_MAX: usize = 20_000;

/// A span of the hash space that is read on its own.
#[derive(Debug, Clone)]
struct Piece {
    epks: EpkRange,
    token: Option<String>,
    /// The keys of the last row, to see that the rows of a range come in order.
    last: Option<Value>,
}

pub(crate) async fn plan(world: &World, text: &str, key: Option<&str>) -> Value {
    let items = world.client.items();
    let items = if let Some(key) = key { items.key(key) } else { items };
    items.plan(text).await.expect(200).value
}

/// With a key: asks the range that has it, as the plan would tell, and names both.
pub(crate) async fn by_tokens(world: &mut World, class: &Class, key: Option<&str>) -> Vec<Value> {
    let plan = plan(world, class.text, key).await;
    let text = text_for_ranges(&plan, class.text, "true");
    let items_max = world.page_size();
    // The map of ranges that the client has: it learns of changes by 410 only.
    let mut map = world.ranges();
    let at = key.map(epk);
    let has_key = |epks: &EpkRange| at.as_ref().is_none_or(|at| epks.contains(at));
    let piece = |(_, epks): &(u32, EpkRange)| Piece { epks: epks.clone(), token: None, last: None };
    let mut pieces: Vec<Piece> = map.iter().filter(|(_, epks)| has_key(epks)).map(piece).collect();
    let mut rows = Vec::new();
    for _ in 0..REQUESTS_MAX {
        if pieces.is_empty() {
            return merge_rows(&plan, rows);
        }
        let piece = pieces.swap_remove(world.random.below(pieces.len()));
        let homes: Vec<&(u32, EpkRange)> =
            map.iter().filter(|(_, epks)| epks.overlaps(&piece.epks)).collect();
        let [(id, range)] = homes.as_slice() else {
            let part = |(_, epks): &&(u32, EpkRange)| Piece {
                epks: epks.intersect(&piece.epks).unwrap(),
                ..piece.clone()
            };
            pieces.extend(homes.iter().map(part));
            continue;
        };
        let answer = ask(world, &text, key, *id, range, &piece, items_max).await;
        if answer.status.code == 410 {
            assert_eq!(answer.status.sub, 1002);
            assert!(map != world.ranges(), "the map is not old");
            map = world.ranges();
            pieces.push(piece);
            continue;
        }
        let answer = answer.expect(200);
        let last = check_order(&plan, piece.last.clone(), &answer.rows);
        rows.extend(answer.rows);
        if let Some(token) = answer.facts.continuation {
            pieces.push(Piece { token: Some(token), last, ..piece });
        }
        world.between_pages().await;
    }
    panic!("{} does not end", class.text);
}

fn epk(key: &str) -> Epk {
    let definition = PartitionKeyDefinition::new(&["/pk"]).unwrap();
    definition.epk(&support::key(key))
}

async fn ask(
    world: &World,
    text: &str,
    key: Option<&str>,
    id: u32,
    range: &EpkRange,
    piece: &Piece,
    items_max: u32,
) -> Answer {
    let client = world.client.with_options(|options| {
        options.items_max = Some(items_max);
        options.continuation.clone_from(&piece.token);
    });
    let mut items = client.items().range(id);
    if piece.epks != *range {
        items = items.epks(piece.epks.clone());
    }
    if let Some(key) = key {
        items = items.key(key);
    }
    items.query(text).await
}

/// Checks that rows of one range come in the order of the plan, after the last one; returns the keys of the last.
fn check_order(plan: &Value, mut last: Option<Value>, rows: &[Value]) -> Option<Value> {
    let info = plan.get("queryInfo").unwrap();
    let directions = info.get("orderBy").and_then(Value::as_array).unwrap_or_default();
    if directions.is_empty() {
        return None;
    }
    for row in rows {
        let keys = row.get("orderByItems").unwrap();
        if let Some(last) = &last {
            let compare = compare_keys(directions, last, keys);
            assert!(compare.is_le(), "{} before {}", last.to_text(), keys.to_text());
        }
        last = Some(keys.clone());
    }
    last
}

pub(crate) fn compare_keys(
    directions: &[Value],
    left: &Value,
    right: &Value,
) -> std::cmp::Ordering {
    for (index, direction) in directions.iter().enumerate() {
        let item = |keys: &Value| keys.as_array().unwrap()[index].get("item").cloned();
        let by_key = order(item(left).as_ref(), item(right).as_ref());
        let by_key =
            if direction.as_str() == Some("Descending") { by_key.reverse() } else { by_key };
        if by_key.is_ne() {
            return by_key;
        }
    }
    std::cmp::Ordering::Equal
}
