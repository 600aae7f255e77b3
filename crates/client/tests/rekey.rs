//! Re-keying: every kind of key, killed at every call, interrupted by the application at every call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use orrery_client::rekey::{Options, Phase, Progress, Refusal, Rekey, Spec, SyntheticScheme};
use orrery_client::{
    Concat, ContainerHost as _, ContainerTemplate, Error, HashedSuffix, ItemStore as _, Key,
    RandomSuffix,
};
use serde_json::{Value, json};
use support::{Fake, run};

const N_ITEMS: usize = 12;

fn item(number: usize, text: &str) -> Value {
    json!({
        "id": format!("i{number}"),
        "user": format!("u{}", number % 5),
        "date": "2018-08-09",
        "tenant": {"name": format!("t{}", number % 3)},
        "text": text,
    })
}

fn user(number: usize) -> Key {
    Key::from(format!("u{}", number % 5))
}

/// A container partitioned by user, with items; one of them has no user at all.
fn filled() -> Arc<Fake> {
    let fake = Fake::new(&[]);
    let mut template = ContainerTemplate::new(["/user"]);
    template.default_ttl_seconds = Some(-1);
    run(fake.create_container("old", &template)).unwrap();
    for number in 0..N_ITEMS {
        put(&fake, number, "first");
    }
    run(fake.upsert(&"old".into(), &Key::Undefined, &nobody())).unwrap();
    fake
}

fn nobody() -> Value {
    json!({"id": "nobody", "date": "2018-08-09", "tenant": {"name": "t0"}})
}

fn put(fake: &Fake, number: usize, text: &str) {
    run(fake.upsert(&"old".into(), &user(number), &item(number, text))).unwrap();
}

fn expected() -> BTreeMap<String, Value> {
    let all = (0..N_ITEMS).map(|it| item(it, "first")).chain([nobody()]);
    all.map(|it| (it["id"].as_str().unwrap().to_owned(), it)).collect()
}

fn rekey(fake: &Arc<Fake>, spec: &Spec) -> Rekey {
    let options = Options { page_items: 4, poll: Duration::ZERO, parallelism: 3 };
    Rekey::new(fake.clone(), fake.document("job"), spec.clone(), options)
}

fn finish(rekey: &Rekey) -> orrery_client::Result<Progress> {
    run(rekey.run(&mut || false, &mut |_, _| {}))
}

fn plain() -> Spec {
    Spec::plain("old", "new", ["/tenant/name"])
}

/// Every item is once in the target, under the key that its properties say, and is otherwise unchanged.
#[track_caller]
fn check(fake: &Arc<Fake>, expected: &BTreeMap<String, Value>, property: Option<&str>) {
    let mut found = BTreeMap::new();
    for (container, mut item) in fake.dump() {
        if container == "new" {
            if let Some(property) = property {
                assert!(item.as_object_mut().unwrap().remove(property).is_some());
            }
            let id = item["id"].as_str().unwrap().to_owned();
            assert!(found.insert(id, item).is_none(), "an item is doubled");
        }
    }
    assert_eq!(found, *expected);
}

#[test]
fn every_kind_of_key_is_copied() {
    let concat = Concat::new("/pk", ["/date", "/tenant/name"]).unwrap();
    let hashed = HashedSuffix::new("/pk", "/date", "/id").unwrap();
    let random = RandomSuffix::new("/pk", "/date").unwrap().count(7).unwrap();
    let specs = [
        (plain(), None),
        (Spec::plain("old", "new", ["/date", "/tenant/name", "/id"]), None),
        (Spec::synthetic("old", "new", SyntheticScheme::Concat(concat)), Some("pk")),
        (Spec::synthetic("old", "new", SyntheticScheme::HashedSuffix(hashed)), Some("pk")),
        (Spec::synthetic("old", "new", SyntheticScheme::RandomSuffix(random)), Some("pk")),
    ];
    for (spec, property) in specs {
        let fake = filled();
        let copy = rekey(&fake, &spec);
        let plan = run(copy.plan()).unwrap();
        assert_eq!((plan.n_items, plan.n_without_key), (N_ITEMS as u64 + 1, 0));
        assert!(plan.n_keys > 1, "{plan:?}");
        let mut phases = Vec::new();
        let progress = run(copy.run(&mut || false, &mut |it, _| phases.push(it))).unwrap();
        assert!(progress.is_settled && progress.n_verified == plan.n_items, "{progress:?}");
        assert_eq!(phases.last(), Some(&Phase::Done));
        check(&fake, &expected(), property);
        let made = run(fake.template("new")).unwrap().unwrap();
        assert_eq!((made.partition_key_paths, made.default_ttl_seconds), (spec.paths, Some(-1)));
        assert!(matches!(finish(&copy), Err(Error::Rekey(Refusal::Finished))));
    }
}

#[test]
fn a_copy_killed_at_any_call_is_continued() {
    let random = RandomSuffix::new("/pk", "/date").unwrap().count(7).unwrap();
    let spec = Spec::synthetic("old", "new", SyntheticScheme::RandomSuffix(random));
    for n_calls in 0.. {
        let fake = filled();
        fake.kill_after(n_calls);
        let result = finish(&rekey(&fake, &spec));
        fake.revive();
        if result.is_ok() {
            assert!(n_calls > 40, "{n_calls}");
            break;
        }
        finish(&rekey(&fake, &spec)).unwrap();
        check(&fake, &expected(), Some("pk"));
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Replace,
    Create,
    Delete,
    ChangeKey,
}

#[test]
fn the_application_may_write_to_the_source_at_any_call() {
    for act in [Act::Replace, Act::Create, Act::Delete, Act::ChangeKey] {
        for n_calls in 0.. {
            let fake = filled();
            let mut after = expected();
            let inner = fake.clone();
            let mut moved = item(7, "first");
            moved["tenant"]["name"] = json!("t9");
            match act {
                Act::Replace => drop(after.insert("i7".to_owned(), item(7, "changed"))),
                Act::Create => drop(after.insert("i99".to_owned(), item(99, "new"))),
                Act::Delete => drop(after.remove("i7")),
                Act::ChangeKey => drop(after.insert("i7".to_owned(), moved.clone())),
            }
            let (is_open, was_open) =
                (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
            let (open, seen) = (is_open.clone(), was_open.clone());
            fake.interrupt_at(n_calls, move || {
                seen.store(open.load(Ordering::SeqCst), Ordering::SeqCst);
                match act {
                    Act::Replace => put(&inner, 7, "changed"),
                    Act::Create => put(&inner, 99, "new"),
                    Act::Delete => {
                        assert!(run(inner.delete_item("old", &user(7), "i7")).unwrap());
                    }
                    Act::ChangeKey => {
                        run(inner.upsert(&"old".into(), &user(7), &moved)).unwrap();
                    }
                }
            });
            let mut n_asked = 0;
            let mut follow = || {
                n_asked += 1;
                n_asked < 12
            };
            // Writers have to stop before the job verifies: what is written later may be found or not.
            let mut report = |phase, _| {
                let is_verifying = matches!(phase, Phase::VerifyingSource | Phase::VerifyingTarget);
                is_open.fetch_and(!is_verifying, Ordering::SeqCst);
            };
            run(rekey(&fake, &plain()).run(&mut follow, &mut report)).unwrap();
            if !fake.was_interrupted() {
                assert!(n_calls > 40, "{n_calls}");
                break;
            }
            if was_open.load(Ordering::SeqCst) {
                check(&fake, &after, None);
            }
        }
    }
}

#[test]
fn what_cannot_be_copied_is_refused() {
    #[track_caller]
    fn check(fake: &Arc<Fake>, spec: &Spec, expected: &str) {
        match finish(&rekey(fake, spec)) {
            Err(Error::Rekey(refusal)) => {
                assert!(refusal.to_string().contains(expected), "{refusal}");
            }
            other => panic!("{other:?}"),
        }
    }
    let fake = filled();
    check(&fake, &Spec::plain("nowhere", "new", ["/a"]), "does not exist");
    check(&fake, &Spec::plain("old", "old", ["/a"]), "same container");
    let taken = SyntheticScheme::Concat(Concat::new("/user", ["/date", "/id"]).unwrap());
    check(&fake, &Spec::synthetic("old", "new", taken), "/user");
    let missing = SyntheticScheme::Concat(Concat::new("/pk", ["/user", "/date"]).unwrap());
    check(&fake, &Spec::synthetic("old", "new", missing), "nobody");
    check(&fake, &plain(), "another copy");

    let fake = filled();
    run(fake.create_container("new", &ContainerTemplate::new(["/other"]))).unwrap();
    check(&fake, &plain(), "/other");

    let fake = filled();
    run(fake.create_container("new", &ContainerTemplate::new(["/tenant/name"]))).unwrap();
    run(fake.upsert(&"new".into(), &"t1".into(), &json!({"id": "x"}))).unwrap();
    check(&fake, &plain(), "not empty");

    let fake = filled();
    let mut twin = item(0, "twin");
    twin["user"] = json!("other");
    run(fake.upsert(&"old".into(), &"other".into(), &twin)).unwrap();
    check(&fake, &plain(), "\"i0\"");
}
