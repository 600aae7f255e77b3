//! Read feed in creation order, in every scope, while others write.

use model::{EpkRange, Lsn};
use partition::{PageLimits, Scope};
use query::{ItemSource as _, SourceItem};

use crate::support::*;

async fn filled(n_items: u32) -> World {
    let world = World::new();
    for n in 0..n_items {
        world.create(&format!(r#"{{"id":"{n}","pk":{}}}"#, n % 5)).await.unwrap();
    }
    world
}

#[tokio::test]
async fn pages_give_every_item_once_in_creation_order() {
    let world = filled(23).await;
    let all: Vec<String> = (0..23).map(|n| n.to_string()).collect();
    assert_eq!(world.ids(&Scope::All), all);
    assert_eq!(world.ids(&Scope::Logical(world.at("[3]"))), ["3", "8", "13", "18"]);
    let ranges = world.partition.settings().definition.boundaries(4);
    let parts = ranges.into_iter().map(|range| world.ids(&Scope::Epks(range)));
    let mut found: Vec<String> = parts.flatten().collect();
    found.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(found, all);
    assert_eq!(world.ids(&Scope::Epks(EpkRange::full())), all);
    assert_eq!(world.ids(&Scope::Logical(world.at("[9]"))), Vec::<String>::new());
}

#[tokio::test]
async fn a_position_survives_the_loss_of_its_item_and_shows_later_ones() {
    let world = filled(6).await;
    let page = world.partition.page(&Scope::All, None, limits(3)).unwrap();
    assert_eq!(page.items.len(), 3);
    for (key, id) in [("[2]", "2"), ("[3]", "3")] {
        world.delete(key, id).await.unwrap();
    }
    world.create(r#"{"id":"new","pk":1}"#).await.unwrap();
    let rest = world.partition.page(&Scope::All, page.next, limits(10)).unwrap();
    let ids: Vec<_> = rest.items.iter().map(|item| text(&json(item), "id")).collect();
    assert_eq!((ids, rest.next), (vec!["4".into(), "5".into(), "new".into()], None));
}

#[tokio::test]
async fn a_page_ends_at_its_bytes_but_holds_at_least_one_item() {
    let world = filled(4).await;
    let one = PageLimits { items_max: 100, bytes_max: 1 };
    let page = world.partition.page(&Scope::All, None, one).unwrap();
    assert_eq!((page.items.len(), page.next.is_some()), (1, true));
    let size = page.items[0].len();
    let two = PageLimits { items_max: 100, bytes_max: 2 * size };
    assert_eq!(world.partition.page(&Scope::All, None, two).unwrap().items.len(), 2);
    let exact = world.partition.page(&Scope::All, None, limits(4)).unwrap();
    assert_eq!((exact.items.len(), exact.next), (4, None), "no page after the last item");
}

#[tokio::test]
async fn a_query_source_is_one_consistent_look() {
    let world = filled(10).await;
    let source = world.partition.source(&Scope::All);
    world.create(r#"{"id":"late","pk":1}"#).await.unwrap();
    world.delete("[0]", "0").await.unwrap();
    let items: Vec<SourceItem> = source.scan(None).map(|item| item.unwrap()).collect();
    assert_eq!(items.len(), 10);
    assert!(items.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(items[0].to_value().unwrap().get("_etag").is_some());
    let rest = source.scan(Some(items[7].number)).count();
    assert_eq!(rest, 2);
    let narrow = world.partition.source(&Scope::Logical(world.at("[1]")));
    assert_eq!(narrow.scan(None).count(), 3);
    assert_eq!(world.feed(Lsn(0)).len(), 10);
}

#[tokio::test]
async fn a_narrow_scope_in_a_large_partition_gives_positions_instead_of_a_long_walk() {
    let world = World::new();
    for start in (0..20_200).step_by(100) {
        let ops = (start..start + 100).map(|n| create(&format!(r#"{{"id":"{n}","pk":1}}"#)));
        world.batch("[1]", ops.collect()).await.unwrap();
    }
    world.create(r#"{"id":"far","pk":2}"#).await.unwrap();
    let narrow = Scope::Epks(EpkRange::point(world.at("[2]").epk));
    let first = world.partition.page(&narrow, None, limits(10)).unwrap();
    assert_eq!((first.items.len(), first.next.is_some()), (0, true));
    let second = world.partition.page(&narrow, first.next, limits(10)).unwrap();
    assert_eq!((second.items.len(), second.next), (1, None));
    let first = world.partition.changes(&narrow, None, None, limits(10)).unwrap();
    assert_eq!((first.items.len(), first.has_more), (0, true));
    let second = world.partition.changes(&narrow, Some(first.lsn), None, limits(10)).unwrap();
    assert_eq!((second.items.len(), second.has_more), (1, false));
    let logical = world.partition.page(&Scope::Logical(world.at("[2]")), None, limits(1)).unwrap();
    assert_eq!(
        (logical.items.len(), logical.next),
        (1, None),
        "a logical partition is found at once"
    );
}
