//! An item that the application deletes stays deleted, whenever the manager is killed.

use std::sync::Arc;

use serde_json::json;

use crate::scene::{
    address, application, check, expected, filled, item, moving_number, repartitioner, seen,
};
use crate::support::{Fake, run};

/// What the application does with the deleted item while no manager runs.
#[derive(Clone, Copy, Debug)]
enum Later {
    Nothing,
    Create,
    Upsert,
}

/// Deletes an item before call `n_calls` of the manager, which is killed `n_more` calls later.
/// Returns the service, and whether the manager came that far.
fn killed(number: usize, n_calls: u64, n_more: i64) -> (Arc<Fake>, bool) {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
    let inner = fake.clone();
    fake.interrupt_at(n_calls, move || {
        assert!(run(application(&inner).delete(&address(number), None)).unwrap());
        inner.kill_after(n_more);
    });
    let _ = run(manager.run(&mut |_, _| {}));
    fake.revive();
    let is_done = fake.was_interrupted();
    (fake, is_done)
}

#[test]
fn an_item_deleted_while_it_is_copied_does_not_come_back() {
    let number = moving_number();
    let mut deleted = expected();
    deleted.remove(&format!("i{number}"));
    let mut again = expected();
    // What was there before is created again, word for word.
    again.insert(format!("i{number}"), item(number, "first"));
    for later in [Later::Nothing, Later::Create, Later::Upsert] {
        for n_more in 0..3 {
            for n_calls in 0.. {
                let (fake, is_done) = killed(number, n_calls, n_more);
                if !is_done {
                    assert!(n_calls > 50, "{n_calls}");
                    break;
                }
                let moment = format!("{later:?}: killed {n_more} calls after call {n_calls}");
                let database = application(&fake);
                let at = address(number);
                assert_eq!(seen(&fake), deleted, "{moment}");
                assert_eq!(run(database.read(&at)).unwrap(), None, "{moment}");
                let replaced = run(database.replace(&at, &item(number, "late"), None));
                assert!(replaced.is_err_and(|it| it.is_service(404)), "{moment}");
                match later {
                    Later::Nothing => {
                        assert!(!run(database.delete(&at, None)).unwrap(), "{moment}");
                    }
                    Later::Create => drop(run(database.create(&item(number, "first"))).unwrap()),
                    Later::Upsert => drop(run(database.upsert(&item(number, "first"))).unwrap()),
                }
                let wanted = if matches!(later, Later::Nothing) { &deleted } else { &again };
                assert_eq!(seen(&fake), *wanted, "{moment}");
                run(repartitioner(&fake).run(&mut |_, _| {})).unwrap();
                check(&fake, wanted);
            }
        }
    }
}

/// A copy that was left unfinished is one that clients can work with: they do not see it.
#[test]
fn a_copy_that_a_killed_manager_left_does_not_hinder_the_application() {
    let number = moving_number();
    let at = address(number);
    for n_calls in 0.. {
        let fake = filled(3);
        let manager = repartitioner(&fake);
        run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
        fake.kill_after(n_calls);
        let result = run(manager.run(&mut |_, _| {}));
        fake.revive();
        let database = application(&fake);
        let found = run(database.read(&at)).unwrap().expect("it is there");
        assert!(!found.item.as_object().unwrap().keys().any(|it| it.contains("orrery")));
        let taken = run(database.create(&item(number, "taken")));
        assert!(taken.is_err_and(|it| it.is_service(409)));
        let stale = run(database.replace(&at, &item(number, "stale"), Some("none")));
        assert!(stale.is_err_and(|it| it.is_service(412)));
        run(database.replace(&at, &item(number, "changed"), Some(&found.etag))).unwrap();
        let changed = run(database.read(&at)).unwrap().expect("it is there");
        assert_eq!(changed.item["text"], json!("changed"));
        let stale = run(database.delete(&at, Some(&found.etag)));
        assert!(stale.is_err_and(|it| it.is_service(412)));
        run(repartitioner(&fake).run(&mut |_, _| {})).unwrap();
        let mut wanted = expected();
        wanted.insert(format!("i{number}"), item(number, "changed"));
        check(&fake, &wanted);
        if result.is_ok() {
            assert!(n_calls > 50, "{n_calls}");
            break;
        }
    }
}
