//! Rings and range maps that change, killed or interrupted by writes at every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_client::repartition::{Phase, Refusal};
use orrery_client::{
    Error, KeySource, PartitionResolver as _, RangeMap, RangePartitionResolver, save_state,
};
use serde_json::{Value, json};

use crate::scene::{
    N_ITEMS, address, application, check, expected, filled, item, moving_number, repartitioner,
    seen,
};
use crate::support::{Fake, run};

#[test]
fn a_ring_grows_and_shrinks() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    let next = run(manager.resized(1)).unwrap();
    let plan = run(manager.begin(&next)).unwrap();
    assert_eq!(plan.added.len(), 1);
    assert!(plan.moves.keys().all(|(_, to)| to.as_str() == "ring.3"), "{plan:?}");
    assert_eq!(plan.n_moving() + plan.n_staying, N_ITEMS as u64);
    assert!(matches!(run(manager.begin(&next)), Err(Error::Repartition(Refusal::Unfinished))));
    let mut phases = Vec::new();
    let progress = run(manager.run(&mut |phase, _| phases.push(phase))).unwrap();
    assert_eq!((progress.n_copied, progress.n_deleted), (plan.n_moving(), plan.n_moving()));
    assert_eq!(phases.last(), Some(&Phase::Done));
    check(&fake, &expected());
    for _ in 0..3 {
        let next = run(manager.resized(-1)).unwrap();
        run(manager.begin(&next)).unwrap();
        run(manager.run(&mut |_, _| {})).unwrap();
        check(&fake, &expected());
    }
    assert!(matches!(run(manager.resized(-1)), Err(Error::NoContainers)), "the last one stays");
}

#[test]
fn a_run_killed_at_any_call_is_continued() {
    for by in [1, -1] {
        let mut n_calls = 0;
        loop {
            let fake = filled(3);
            let manager = repartitioner(&fake);
            run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
            fake.kill_after(n_calls);
            let result = run(manager.run(&mut |_, _| {}));
            fake.revive();
            assert_eq!(seen(&fake), expected(), "after call {n_calls}");
            run(repartitioner(&fake).run(&mut |_, _| {})).unwrap();
            check(&fake, &expected());
            if result.is_ok() {
                break;
            }
            n_calls += 1;
        }
        assert!(n_calls > 50, "{n_calls}");
    }
}

#[test]
fn a_run_killed_again_and_again_ends() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
    for n_kills in 0.. {
        // A page of five items takes up to 21 calls; a run that does less makes no progress.
        fake.kill_after(28);
        if run(repartitioner(&fake).run(&mut |_, _| {})).is_ok() {
            assert!(n_kills > 1, "{n_kills}");
            break;
        }
        assert!(n_kills < 100);
    }
    fake.revive();
    check(&fake, &expected());
}

/// What an application may do to an item, and what must be there in the end.
#[derive(Clone, Copy, Debug)]
enum Act {
    Delete,
    Upsert,
    Replace,
    Create,
    DeleteThenCreate,
}

fn act(fake: &Arc<Fake>, act: Act, number: usize) {
    let database = application(fake);
    let at = address(number);
    let changed = item(number, "changed");
    match act {
        Act::Delete => assert!(run(database.delete(&at, None)).unwrap()),
        Act::Upsert => drop(run(database.upsert(&changed)).unwrap()),
        Act::Replace => drop(run(database.replace(&at, &changed, None)).unwrap()),
        Act::Create => {
            let again = run(database.create(&changed));
            assert!(again.is_err_and(|it| it.is_service(409)), "the id is taken");
            run(database.create(&item(N_ITEMS + number, "new"))).unwrap();
        }
        Act::DeleteThenCreate => {
            assert!(run(database.delete(&at, None)).unwrap());
            run(database.create(&changed)).unwrap();
        }
    }
    let found = run(database.read(&at)).unwrap().map(|it| it.item["text"].clone());
    match act {
        Act::Delete => assert_eq!(found, None),
        Act::Upsert | Act::Replace | Act::DeleteThenCreate => {
            assert_eq!(found, Some(json!("changed")));
        }
        Act::Create => assert_eq!(found, Some(json!("first"))),
    }
}

fn after(act: Act, number: usize) -> BTreeMap<String, Value> {
    let mut all = expected();
    match act {
        Act::Delete => drop(all.remove(&format!("i{number}"))),
        Act::Upsert | Act::Replace | Act::DeleteThenCreate => {
            all.insert(format!("i{number}"), item(number, "changed"));
        }
        Act::Create => {
            let new = N_ITEMS + number;
            all.insert(format!("i{new}"), item(new, "new"));
        }
    }
    all
}

#[test]
fn the_application_may_write_at_any_call() {
    let number = moving_number();
    for act_now in [Act::Delete, Act::Upsert, Act::Replace, Act::Create, Act::DeleteThenCreate] {
        for n_calls in 0.. {
            let fake = filled(3);
            let manager = repartitioner(&fake);
            run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
            let inner = fake.clone();
            fake.interrupt_at(n_calls, move || {
                act(&inner, act_now, number);
                assert_eq!(
                    seen(&inner),
                    after(act_now, number),
                    "{act_now:?} before call {n_calls}"
                );
            });
            run(manager.run(&mut |_, _| {})).unwrap();
            if !fake.was_interrupted() {
                assert!(n_calls > 50, "{n_calls}");
                break;
            }
            check(&fake, &after(act_now, number));
        }
    }
}

#[test]
fn range_maps_can_be_changed_and_homeless_items_are_refused() {
    let fake = Fake::new(&["low", "high", "top"]);
    let state = |cuts: &[&str], names: &[&str]| {
        let names = names.iter().map(|it| (*it).into()).collect();
        let map = RangeMap::from_cuts(cuts.iter().map(|it| (*it).into()), names).unwrap();
        RangePartitionResolver::from_map(KeySource::path("/pk").unwrap(), map).unwrap().state()
    };
    let first = state(&["k15"], &["low", "high"]);
    run(save_state(&*fake.document("state"), &first, None)).unwrap();
    let database = application(&fake);
    for number in 0..N_ITEMS {
        run(database.create(&item(number, "first"))).unwrap();
    }
    let manager = repartitioner(&fake);
    let entries = [(orrery_client::Range::new("k0".to_owned(), "k1".to_owned()).unwrap(), "low")];
    let narrow =
        RangePartitionResolver::new(KeySource::path("/pk").unwrap(), entries).unwrap().state();
    assert!(matches!(run(manager.begin(&narrow)), Err(Error::Repartition(Refusal::Homeless(14)))));
    run(manager.begin(&state(&["k12", "k20"], &["low", "high", "top"]))).unwrap();
    run(manager.run(&mut |_, _| {})).unwrap();
    check(&fake, &expected());
    let unknown = state(&["k12", "k20"], &["low", "high", "nowhere"]);
    run(manager.begin(&unknown)).unwrap();
    let refused = run(manager.run(&mut |_, _| {}));
    assert!(matches!(refused, Err(Error::Repartition(Refusal::ContainerMissing(_)))));
    assert_eq!(seen(&fake), expected(), "nothing was changed");
}
