//! Every native that a script can reach, called so that it would run without end: none runs past the limit.

use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use rquickjs::{Ctx, Function, Object, Value};

use super::{Env, Sandbox};
use crate::limits::{HANG_GRACE, Limits};

const NATIVES: &str = include_str!("natives.js");

/// The time limit of one call here.
const CALL_TIME: Duration = Duration::from_millis(2);
/// Threads that share the walk.
const N_WALKERS: usize = 4;
/// A call that is silent for this long after its limit does not end: a run loses its thread after a fourth of it.
const SILENCE_MAX: Duration = HANG_GRACE.saturating_mul(4);
/// One call in so many is made. The slow run makes all of them, in minutes.
const STRIDE: usize = if cfg!(feature = "slow") { 1 } else { 7 };
/// Limit: reports that wait.
const REPORTS_MAX: usize = 1_024;
/// Limit: functions that do not end before the walk itself does.
const ENDLESS_MAX: usize = 10;
/// Limit: calls in one engine, for what they leave behind.
const CALLS_MAX: usize = 20_000;

/// What a walker reports: the call that it begins.
#[derive(Debug, Clone)]
struct Call {
    walker: usize,
    /// None of them when the walk is at its end.
    function: usize,
    name: String,
}

/// What fills the memory does so quickly.
fn sandbox() -> Sandbox {
    let limits = Limits { memory_bytes_max: 12 << 20, ..Limits::service() };
    Sandbox::shared(&Env::system(), &limits).unwrap()
}

struct Walk<'js> {
    natives: Object<'js>,
    n_functions: usize,
    n_receivers: usize,
    n_arguments: usize,
}

impl<'js> Walk<'js> {
    fn of(ctx: &Ctx<'js>) -> rquickjs::Result<Walk<'js>> {
        let natives = ctx.eval::<Object<'js>, _>(NATIVES);
        if natives.is_err() {
            eprintln!("{:?}", ctx.catch());
        }
        let natives = natives?;
        let count = |name: &str| natives.get::<_, usize>(name);
        Ok(Walk {
            n_functions: count("nFunctions")?,
            n_receivers: count("nReceivers")?,
            n_arguments: count("nArguments")?,
            natives,
        })
    }

    fn describe(&self, function: usize, receiver: usize, arguments: usize) -> String {
        let text = |name: &str, index: usize| {
            let name: Function<'js> = self.natives.get(name).unwrap();
            name.call::<_, String>((index,)).unwrap()
        };
        let receiver = match receiver.checked_sub(1) {
            None => "new".to_owned(),
            Some(receiver) => text("receiver", receiver),
        };
        format!("{} on {receiver} with arguments {arguments}", text("name", function))
    }

    /// Receiver 0 stands for `new`.
    fn call(&self, function: usize, receiver: usize, arguments: usize) {
        let ended = match receiver.checked_sub(1) {
            None => {
                let make: Function<'js> = self.natives.get("make").unwrap();
                make.call::<_, Value<'js>>((function, arguments))
            }
            Some(receiver) => {
                let call: Function<'js> = self.natives.get("call").unwrap();
                call.call::<_, Value<'js>>((function, receiver, arguments))
            }
        };
        if ended.is_err() {
            self.natives.ctx().catch();
        }
    }
}

/// Calls a part of all functions from `next` on, and says before each call which it is.
fn start(walker: usize, mut next: usize, report: &SyncSender<Call>) {
    let report = report.clone();
    std::thread::spawn(move || {
        while let Some(reached) = walk_from(&sandbox(), walker, next, &report) {
            next = reached;
        }
        let _ = report.send(Call { walker, function: usize::MAX, name: String::new() });
    });
}

/// Walks until enough calls were made in this engine; gives the next function, if there is one.
fn walk_from(
    sandbox: &Sandbox,
    walker: usize,
    first: usize,
    report: &SyncSender<Call>,
) -> Option<usize> {
    let clock = &sandbox.bridge.clock;
    sandbox.context().with(|ctx| {
        let walk = Walk::of(&ctx).unwrap();
        let mut n_calls = 0;
        for function in (first..walk.n_functions).step_by(N_WALKERS) {
            for receiver in 0..=walk.n_receivers {
                for arguments in 0..walk.n_arguments {
                    let call = function + receiver * walk.n_arguments + arguments;
                    if !call.is_multiple_of(STRIDE) {
                        continue;
                    }
                    let name = walk.describe(function, receiver, arguments);
                    // Nobody listens to a walker that was given up.
                    if report.send(Call { walker, function, name }).is_err() {
                        return None;
                    }
                    let limit = clock.env.monotonic().saturating_add(CALL_TIME);
                    clock.start(Duration::ZERO, limit);
                    walk.call(function, receiver, arguments);
                    // Promises that it made.
                    while !clock.must_stop() && ctx.execute_pending_job() {}
                    clock.start(Duration::ZERO, Duration::MAX);
                }
            }
            n_calls += (walk.n_receivers + 1) * walk.n_arguments;
            if n_calls >= CALLS_MAX {
                return Some(function + N_WALKERS);
            }
        }
        None
    })
}

/// The last call of each walker, and since when.
#[derive(Default)]
struct Watch {
    last: Vec<Option<(Call, Duration)>>,
    slowest: Vec<(Duration, String)>,
    endless: Vec<String>,
    n_calls: usize,
}

impl Watch {
    fn note(&mut self, call: Call, now: Duration) {
        self.n_calls += 1;
        let (walker, is_end) = (call.walker, call.function == usize::MAX);
        let before = self.last[walker].take();
        self.last[walker] = (!is_end).then_some((call, now));
        if let Some((before, since)) = before {
            self.slowest.push((now.saturating_sub(since), before.name));
            self.slowest.sort_by(|a, b| b.cmp(a));
            self.slowest.truncate(10);
        }
    }

    /// Gives up walkers that are silent, and lets others go on behind them.
    fn check(&mut self, now: Duration, report: &SyncSender<Call>) {
        for walker in 0..self.last.len() {
            let is_silent = |(_, since): &mut (Call, Duration)| {
                now.saturating_sub(*since) > CALL_TIME + SILENCE_MAX
            };
            if let Some((call, _)) = self.last[walker].take_if(is_silent) {
                self.endless.push(call.name.clone());
                let another = self.last.len();
                self.last.push(Some((call.clone(), now)));
                start(another, call.function + N_WALKERS, report);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.last.iter().all(Option::is_none) || self.endless.len() > ENDLESS_MAX
    }
}

#[test]
fn no_native_runs_past_the_limit() {
    let (report, reports) = mpsc::sync_channel(REPORTS_MAX);
    let env = Env::system();
    let now = env.monotonic();
    let mut watch = Watch::default();
    for walker in 0..N_WALKERS {
        let first = Call { walker, function: walker, name: "the first".to_owned() };
        watch.last.push(Some((first, now)));
        start(walker, walker, &report);
    }
    while !watch.is_over() {
        if let Ok(call) = reports.recv_timeout(SILENCE_MAX / 4) {
            watch.note(call, env.monotonic());
        }
        watch.check(env.monotonic(), &report);
    }
    eprintln!("{} calls; the slowest: {:#?}", watch.n_calls, watch.slowest);
    assert!(watch.endless.is_empty(), "{:#?}", watch.endless);
    assert!(watch.n_calls > 50_000 / STRIDE, "{}", watch.n_calls);
}
