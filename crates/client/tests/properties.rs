//! Properties that hold for every scheme: little moves, maps are total and disjoint, states come back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

use orrery_client::{
    ContainerLink, HashPartitionResolver, Key, KeySource, Md5, Murmur3, PartitionResolver, Range,
    RangeMap, RangePartitionResolver, ReadScope, Registry, ResolverState, XxHash,
};
use proptest::prelude::*;

fn source() -> KeySource {
    KeySource::path("/key").unwrap()
}

fn ring(n_containers: usize, n_nodes: usize, hash: u8) -> HashPartitionResolver {
    let builder = HashPartitionResolver::builder(source())
        .containers((0..n_containers).map(|it| format!("c{it}")))
        .virtual_nodes(n_nodes);
    let builder = match hash % 3 {
        0 => builder.hash(Md5),
        1 => builder.hash(Murmur3),
        _ => builder.hash(XxHash),
    };
    builder.build().unwrap()
}

fn any_key() -> impl Strategy<Value = Key> {
    let scalar = prop_oneof![
        Just(Key::Null),
        any::<bool>().prop_map(Key::from),
        any::<i64>().prop_map(Key::from),
        any::<f64>().prop_filter_map("finite", |it| Key::try_from(it).ok()),
        ".{0,12}".prop_map(Key::from),
    ];
    prop_oneof![scalar.clone(), prop::collection::vec(scalar, 0..3).prop_map(Key::List)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_new_container_takes_from_the_old_and_nothing_else_moves(
        n in 1..20_usize, nodes in 1..64_usize, hash in 0..3_u8, keys in prop::collection::vec(any_key(), 1..200)
    ) {
        let (before, after) = (ring(n, nodes, hash), ring(n + 1, nodes, hash));
        let new = ContainerLink::from(format!("c{n}"));
        for key in keys {
            let (old, now) =
                (before.container_for_create(&key).unwrap(), after.container_for_create(&key).unwrap());
            prop_assert!(old == now || now == new, "{key}: {old} to {now}");
        }
    }

    #[test]
    fn the_order_of_containers_does_not_matter(seed in any::<u64>(), keys in prop::collection::vec(any_key(), 1..50)) {
        let mut names: Vec<String> = (0..8).map(|it| format!("c{it}")).collect();
        let before = HashPartitionResolver::builder(source()).containers(names.clone()).build().unwrap();
        let n_names = names.len();
        names.rotate_left(usize::try_from(seed % n_names as u64).unwrap());
        names.swap(0, n_names / 2);
        let after = HashPartitionResolver::builder(source()).containers(names).build().unwrap();
        for key in keys {
            prop_assert_eq!(before.container_for_create(&key).unwrap(), after.container_for_create(&key).unwrap());
        }
    }

    #[test]
    fn maps_from_cuts_are_total_and_disjoint(cuts in prop::collection::btree_set(any_key(), 0..12), keys in prop::collection::vec(any_key(), 1..100)) {
        let names = (0..=cuts.len()).map(|it| ContainerLink::from(format!("c{it}"))).collect();
        let map = RangeMap::from_cuts(cuts.iter().cloned(), names).unwrap();
        prop_assert!(map.is_total());
        for key in keys.iter().chain(&cuts) {
            let holders: Vec<_> = map.iter().filter(|(range, _)| range.contains(key)).collect();
            prop_assert_eq!(holders.len(), 1, "{}", key);
            prop_assert_eq!(map.get(key), Some(holders[0].1));
        }
    }

    #[test]
    fn overlap_is_always_found(pairs in prop::collection::vec((0..40_i64, 0..6_i64), 1..8)) {
        let ranges: Vec<_> = pairs.iter().map(|(low, n)| Range::new(*low, low + n).unwrap()).collect();
        let overlaps = ranges.iter().enumerate().any(|(i, a)| ranges[..i].iter().any(|b| a.intersects(b)));
        let map = RangeMap::new(ranges.into_iter().map(|it| (it, ())));
        prop_assert_eq!(map.is_err(), overlaps);
    }

    #[test]
    fn keys_come_back_from_json(key in any_key()) {
        let text = serde_json::to_string(&key).unwrap();
        prop_assert_eq!(serde_json::from_str::<Key>(&text).unwrap(), key);
    }

    #[test]
    fn order_of_keys_is_total(a in any_key(), b in any_key(), c in any_key()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }

    #[test]
    fn ring_and_range_states_come_back(n in 1..10_usize, nodes in 1..40_usize, hash in 0..3_u8, cuts in prop::collection::btree_set(any_key(), 0..5), keys in prop::collection::vec(any_key(), 1..30)) {
        let names = (0..=cuts.len()).map(|it| ContainerLink::from(format!("c{it}"))).collect();
        let map = RangeMap::from_cuts(cuts, names).unwrap();
        let resolvers: [Box<dyn PartitionResolver>; 2] = [
            Box::new(ring(n, nodes, hash)),
            Box::new(RangePartitionResolver::from_map(source(), map).unwrap()),
        ];
        for resolver in resolvers {
            let state = ResolverState::from_json(&resolver.state().to_json().unwrap()).unwrap();
            prop_assert_eq!(&state, &resolver.state());
            let restored = state.build(&Registry::new()).unwrap();
            for key in &keys {
                prop_assert_eq!(restored.container_for_create(key).unwrap(), resolver.container_for_create(key).unwrap());
                let scope = ReadScope::Key(key.clone());
                prop_assert_eq!(restored.containers_for_read(&scope).unwrap(), resolver.containers_for_read(&scope).unwrap());
            }
        }
    }

    #[test]
    fn a_foreign_state_never_panics(text in ".{0,80}") {
        let _ = ResolverState::from_json(&text);
    }
}

#[test]
fn about_one_in_n_moves() {
    for n in [2_usize, 4, 8, 16] {
        let (before, after) = (ring(n, 128, 0), ring(n + 1, 128, 0));
        let n_keys = 20_000;
        let moved = (0..n_keys).map(|it| Key::from(format!("user-{it}"))).filter(|key| {
            before.container_for_create(key).unwrap() != after.container_for_create(key).unwrap()
        });
        let ideal = n_keys / (n + 1);
        let moved = moved.count();
        assert!(
            moved > ideal / 2 && moved < ideal * 3 / 2,
            "{n}: {moved} of {n_keys}, ideal {ideal}"
        );
    }
}
