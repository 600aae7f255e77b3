//! Latest-version feed: order, completeness, pages, start positions and scopes.

use model::{EpkRange, Lsn, Value};
use partition::{PageLimits, Scope};

use crate::support::*;

fn ids(page: &partition::ChangePage) -> Vec<String> {
    page.items.iter().map(|item| text(&json(item), "id")).collect()
}

#[tokio::test]
async fn each_live_item_appears_once_at_its_last_write() {
    let world = World::new();
    for id in ["a", "b", "c", "d"] {
        world.create(&format!(r#"{{"id":"{id}","pk":1}}"#)).await.unwrap();
    }
    world.upsert(r#"{"id":"b","pk":1,"v":2}"#).await.unwrap();
    world.delete("[1]", "c").await.unwrap();
    let expected = [("a", 11), ("d", 14), ("b", 15)].map(|(id, lsn)| (id.to_owned(), lsn));
    assert_eq!(world.feed(Lsn(0)), expected);
    assert_eq!(world.feed(Lsn(14)), expected[2..]);
    assert_eq!(world.feed(Lsn(16)), []);
}

#[tokio::test]
async fn a_page_says_where_to_go_on_and_when_nothing_is_left() {
    let world = World::new();
    let start = world.partition.changes(&Scope::All, None, None, limits(5)).unwrap();
    assert_eq!((start.items.len(), start.lsn, start.has_more), (0, Lsn(10), false));
    for n in 0..3 {
        world.create(&format!(r#"{{"id":"{n}","pk":{n}}}"#)).await.unwrap();
    }
    world.delete("[0]", "0").await.unwrap();
    let first = world.partition.changes(&Scope::All, None, None, limits(1)).unwrap();
    assert_eq!((ids(&first), first.lsn, first.has_more), (vec!["1".into()], Lsn(12), true));
    let second = world.partition.changes(&Scope::All, Some(first.lsn), None, limits(1)).unwrap();
    assert_eq!((ids(&second), second.lsn, second.has_more), (vec!["2".into()], Lsn(14), false));
    let third = world.partition.changes(&Scope::All, Some(second.lsn), None, limits(1)).unwrap();
    assert_eq!((third.items.len(), third.lsn, third.has_more), (0, Lsn(14), false));
    assert_eq!(third.charge.to_string(), "1");
}

#[tokio::test]
async fn one_transaction_is_never_torn_apart() {
    let world = World::new();
    for round in 0..3 {
        let ops = (0..5).map(|n| create(&format!(r#"{{"id":"{round}-{n}","pk":1}}"#))).collect();
        world.batch("[1]", ops).await.unwrap();
    }
    let small = PageLimits { items_max: 2, bytes_max: 10 };
    let page = world.partition.changes(&Scope::All, None, None, small).unwrap();
    assert_eq!((page.items.len(), page.lsn, page.has_more), (5, Lsn(11), true));
    let size = page.items[0].len();
    let almost_two = PageLimits { items_max: 100, bytes_max: 10 * size - 1 };
    let page = world.partition.changes(&Scope::All, None, None, almost_two).unwrap();
    assert_eq!((page.items.len(), page.lsn, page.has_more), (5, Lsn(11), true));
    let page = world.partition.changes(&Scope::All, Some(Lsn(12)), None, small).unwrap();
    assert_eq!((page.items.len(), page.lsn, page.has_more), (5, Lsn(13), false));
    let middle = PageLimits { items_max: 6, bytes_max: 1 << 20 };
    let page = world.partition.changes(&Scope::All, None, None, middle).unwrap();
    assert_eq!((page.items.len(), page.lsn, page.has_more), (10, Lsn(12), true));
}

#[tokio::test]
async fn a_start_time_is_strict_to_the_second() {
    let world = World::new();
    for n in 0..20 {
        world.create(&format!(r#"{{"id":"{n}","pk":{n}}}"#)).await.unwrap();
        if n % 3 == 0 {
            world.advance(2);
        }
    }
    world.delete("[10]", "10").await.unwrap();
    let all: Vec<(String, u64)> = {
        let page = world.partition.changes(&Scope::All, None, None, limits(100)).unwrap();
        let ts = |item: &Value| u64::try_from(item.get("_ts").unwrap().as_i64().unwrap()).unwrap();
        page.items
            .iter()
            .map(|item| json(item))
            .map(|item| (text(&item, "id"), ts(&item)))
            .collect()
    };
    for seconds in 1_699_999_998..1_700_000_020 {
        let page = world.partition.changes(&Scope::All, None, Some(seconds), limits(100)).unwrap();
        let expected: Vec<_> =
            all.iter().filter(|(_, ts)| *ts > seconds).map(|(id, _)| id.clone()).collect();
        assert_eq!(ids(&page), expected, "{seconds}");
        assert_eq!((page.lsn, page.has_more), (Lsn(31), false));
    }
    for seconds in [0, 1_700_000_010, 1_800_000_000] {
        let both = world.partition.changes(&Scope::All, Some(Lsn(28)), Some(seconds), limits(100));
        assert_eq!(ids(&both.unwrap()), ["18", "19"], "a position wins over a time");
    }
    for seconds in [1_699_999_998, 1_700_000_005, 1_700_000_030] {
        let at = world.partition.position_at(seconds).unwrap();
        let page = world.partition.changes(&Scope::All, Some(at), None, limits(100)).unwrap();
        let expected = all.iter().filter(|(_, ts)| *ts > seconds).count();
        assert_eq!(ids(&page).len(), expected, "{seconds}");
    }
}

#[tokio::test]
async fn a_feed_can_be_narrowed_to_a_range_or_a_logical_partition() {
    let world = World::new();
    for n in 0..30 {
        world.create(&format!(r#"{{"id":"{n}","pk":{}}}"#, n % 10)).await.unwrap();
    }
    let one = Scope::Logical(world.at("[3]"));
    let page = world.partition.changes(&one, None, None, limits(100)).unwrap();
    assert_eq!((ids(&page), page.lsn), (vec!["3".into(), "13".into(), "23".into()], Lsn(40)));
    let definition = world.partition.settings().definition.clone();
    let [low, high]: [EpkRange; 2] = definition.boundaries(2).try_into().unwrap();
    let read = |range: EpkRange| {
        ids(&world.partition.changes(&Scope::Epks(range), None, None, limits(100)).unwrap())
    };
    let (low, high) = (read(low), read(high));
    assert!(!low.is_empty() && !high.is_empty());
    let mut both = [low, high].concat();
    both.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(both, (0..30).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn envelopes_have_the_item_and_when_it_changed() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1,"v":1}"#).await.unwrap();
    world.upsert(r#"{"id":"a","pk":1,"v":2}"#).await.unwrap();
    let page = world.partition.changes_in_envelopes(&Scope::All, None, None, limits(10)).unwrap();
    let plain = world.partition.changes(&Scope::All, None, None, limits(10)).unwrap();
    assert_eq!((page.lsn, page.items.len()), (plain.lsn, 1));
    let entry = json(&page.items[0]);
    assert_eq!(entry.get("current").unwrap().to_text(), json(&plain.items[0]).to_text());
    let metadata = entry.get("metadata").unwrap().to_text();
    assert_eq!(metadata, format!(r#"{{"lsn":{},"crts":1700000000}}"#, plain.lsn));
}
