//! Queries that are under way while items move.

use std::sync::Arc;

use orrery_client::repartition::Phase;
use orrery_client::{
    Continuation, Error, PartitionedDatabase, QueryPage, ReadMode, ReadScope, Registry,
    ResolverState, Result, Scheme, Statement, load_state,
};
use serde_json::Value;

use crate::scene::{
    N_ITEMS, advance, application, expected, filled, item, moving_number, repartitioner,
};
use crate::support::{Fake, run};

/// A query that is under way while items are copied: each item comes once, whatever container is read first.
#[test]
fn a_query_shows_each_item_once_while_items_are_copied() {
    for by in [1, -1] {
        for n_pages in [0, 3] {
            for n_calls in 0.. {
                let fake = filled(3);
                let manager = repartitioner(&fake);
                run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
                // The transition is published, and nothing is copied yet.
                advance(&fake, Phase::Copying);
                let database = application(&fake);
                let statement = Statement::new("SELECT * FROM c");
                let mut query =
                    run(database.query(statement, &ReadScope::All)).unwrap().rows_max(3);
                let mut rows = Vec::new();
                for _ in 0..n_pages {
                    rows.extend(
                        run(query.next_page()).unwrap().map(|it| it.rows).unwrap_or_default(),
                    );
                }
                // Sources are deleted after the time of grace, which a query must not outlive.
                let mut is_deleting = false;
                fake.kill_after(n_calls);
                let _ = run(manager.run(&mut |it, _| is_deleting |= it == Phase::Deleting));
                fake.revive();
                if is_deleting {
                    assert!(n_calls > 5, "{n_calls}");
                    break;
                }
                rows.extend(run(query.collect()).unwrap());
                let mut ids: Vec<&str> = rows.iter().map(|it| it["id"].as_str().unwrap()).collect();
                ids.sort_unstable();
                let mut wanted: Vec<String> = expected().into_keys().collect();
                wanted.sort_unstable();
                assert_eq!(ids, wanted, "{by}: {n_calls} calls after {n_pages} pages");
            }
        }
    }
}

#[test]
fn the_current_scheme_is_read_as_it_was_while_items_are_copied() {
    let fake = filled(3);
    let manager = repartitioner(&fake);
    let (current, _) = run(load_state(&*fake.document("state"))).unwrap().unwrap();
    let next = run(manager.resized(-1)).unwrap();
    run(manager.begin(&next)).unwrap();
    for n_calls in 0.. {
        fake.kill_after(n_calls);
        let mut is_deleting = false;
        let _ = run(manager.run(&mut |it, _| is_deleting |= it == Phase::Deleting));
        fake.revive();
        if is_deleting {
            break;
        }
        let registry = Registry::new();
        let resolver = orrery_client::TransitionPartitionResolver::new(
            current.build(&registry).unwrap(),
            next.build(&registry).unwrap(),
            orrery_client::ReadMode::ReadCurrent,
        );
        let database = PartitionedDatabase::new(fake.clone(), Scheme::new(Arc::new(resolver)));
        let statement = Statement::new("SELECT * FROM c");
        let rows = run(async { database.query(statement, &ReadScope::All).await?.collect().await });
        assert_eq!(rows.unwrap().len(), N_ITEMS, "after {n_calls} calls");
    }
}

fn everything() -> Statement {
    Statement::new("SELECT * FROM c")
}

/// One page, asked for by a process that knows nothing but the text of the continuation.
fn page(fake: &Arc<Fake>, statement: &Statement, at: Option<&str>) -> Result<QueryPage> {
    let database = application(fake);
    let query = async {
        let scope = &ReadScope::All;
        let query = match at {
            None => database.query(statement.clone(), scope).await?,
            Some(at) => database.resume(statement.clone(), scope, &Continuation::new(at)).await?,
        };
        query.parallelism(2).rows_max(3).next_page().await
    };
    run(query).map(|it| it.expect("a query that is not at its end has a page"))
}

/// A query whose every page is asked for by another process.
struct Relay {
    statement: Statement,
    rows: Vec<Value>,
    at: Option<String>,
    is_over: bool,
}

impl Relay {
    fn new(statement: Statement) -> Relay {
        Relay { statement, rows: Vec::new(), at: None, is_over: false }
    }

    fn pages(mut self, fake: &Arc<Fake>, n_pages: usize) -> Relay {
        for _ in 0..n_pages {
            if self.is_over {
                break;
            }
            let page = page(fake, &self.statement, self.at.as_deref()).unwrap();
            self.rows.extend(page.rows);
            self.at = page.continuation.map(|it| it.as_str().to_owned());
            self.is_over = self.at.is_none();
        }
        self
    }

    fn finish(self, fake: &Arc<Fake>) -> Vec<Value> {
        self.pages(fake, usize::MAX).rows
    }
}

fn ids(rows: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> =
        rows.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids
}

fn all_ids() -> Vec<String> {
    expected().into_keys().collect()
}

/// For every number of pages and every number of calls that a manager makes until it deletes: some pages, the
/// calls, then what `rest` does.
fn at_every_moment(by: i64, rest: impl Fn(&Arc<Fake>, usize, i64)) {
    for n_pages in [0, 1, 3, 5] {
        for n_calls in 0.. {
            let fake = filled(3);
            let manager = repartitioner(&fake);
            run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
            advance(&fake, Phase::Copying);
            rest(&fake, n_pages, n_calls);
            if copy_some(&fake, 0) {
                assert!(n_calls > 5, "{n_calls}");
                break;
            }
        }
    }
}

/// Lets the manager make some calls. Returns whether the next scheme is read now.
fn copy_some(fake: &Arc<Fake>, n_calls: i64) -> bool {
    // One call loads the job.
    fake.kill_after(n_calls + 1);
    let _ = run(repartitioner(fake).run(&mut |_, _| {}));
    fake.revive();
    let (state, _) = run(load_state(&*fake.document("state"))).unwrap().unwrap();
    match state {
        ResolverState::Transition { mode, .. } => mode == ReadMode::ReadNext,
        _ => false,
    }
}

#[test]
fn a_query_resumed_by_other_processes_shows_each_item_once_while_items_move() {
    let number = moving_number();
    for by in [1, -1] {
        at_every_moment(by, |fake, n_pages, n_calls| {
            let query = Relay::new(everything()).pages(fake, n_pages);
            let n_before = query.rows.len();
            if copy_some(fake, n_calls) {
                return;
            }
            run(application(fake).upsert(&item(number, "changed"))).unwrap();
            let rows = query.finish(fake);
            let moment = format!("{by}: {n_pages} pages, {n_calls} calls");
            assert_eq!(ids(&rows), all_ids(), "{moment}");
            let late = rows[n_before..].iter().find(|it| it["id"] == format!("i{number}"));
            assert!(late.is_none_or(|it| it["text"] == "changed"), "{moment}: {late:?}");
        });
    }
}

#[test]
fn a_condition_holds_for_the_version_that_counts() {
    let number = moving_number();
    let with = |text: &str| everything().parameter("@text", text);
    at_every_moment(1, |fake, n_pages, n_calls| {
        let first = Relay::new(with("first")).pages(fake, n_pages);
        let n_before = first.rows.len();
        run(application(fake).upsert(&item(number, "changed"))).unwrap();
        let changed = Relay::new(with("changed")).pages(fake, n_pages);
        if copy_some(fake, n_calls) {
            return;
        }
        let moment = format!("{n_pages} pages, {n_calls} calls");
        assert_eq!(ids(&changed.finish(fake)), [format!("i{number}")], "{moment}");
        let rows = first.finish(fake);
        let late = rows[n_before..].iter().find(|it| it["id"] == format!("i{number}"));
        assert!(late.is_none(), "{moment}: it does not match any more");
        let mut wanted = all_ids();
        wanted.retain(|it| {
            *it != format!("i{number}") || rows[..n_before].iter().any(|row| row["id"] == *it)
        });
        assert_eq!(ids(&rows), wanted, "{moment}");
    });
}

#[test]
fn a_continuation_from_before_a_move_holds_until_the_next_scheme_is_read() {
    let number = moving_number();
    for by in [1, -1] {
        for n_pages in [1, 3, 5] {
            for n_calls in 0.. {
                let fake = filled(3);
                let query = Relay::new(everything()).pages(&fake, n_pages);
                let manager = repartitioner(&fake);
                run(manager.begin(&run(manager.resized(by)).unwrap())).unwrap();
                let is_switched = copy_some(&fake, n_calls);
                if is_switched && query.is_over {
                    break;
                }
                if is_switched {
                    let refused = page(&fake, &everything(), query.at.as_deref());
                    assert!(matches!(refused, Err(Error::ContinuationExpired)), "{refused:?}");
                    run(manager.run(&mut |_, _| {})).unwrap();
                    let refused = page(&fake, &everything(), query.at.as_deref());
                    assert!(matches!(refused, Err(Error::ContinuationExpired)), "{refused:?}");
                    break;
                }
                run(application(&fake).upsert(&item(number, "changed"))).unwrap();
                assert_eq!(ids(&query.finish(&fake)), all_ids(), "{by}: {n_pages}, {n_calls}");
            }
        }
    }
}

#[test]
fn a_continuation_of_the_next_scheme_holds_after_the_move() {
    for n_pages in 1..8 {
        let fake = filled(3);
        let manager = repartitioner(&fake);
        run(manager.begin(&run(manager.resized(1)).unwrap())).unwrap();
        advance(&fake, Phase::Deleting);
        let query = Relay::new(everything()).pages(&fake, n_pages);
        run(manager.run(&mut |_, _| {})).unwrap();
        assert_eq!(ids(&query.finish(&fake)), all_ids(), "{n_pages}");
    }
}
