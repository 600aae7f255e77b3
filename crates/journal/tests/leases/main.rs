//! Leases under simulation: members with clocks of their own that drift, jump, and stand still; an engine that is away; beats
//! that take their time. One seed is one run.
//!
//! The world has a true time that nobody in it can read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

use std::time::Duration;

use journal::lease::{BEAT_INTERVAL, ClockReading, Lease, Observer};
use journal::memory::MemoryEngine;
use journal::{Answer, NewMember, SessionId, Sessions as _};
use model::Env;

/// Steps of true time.
const STEP_MS: u64 = 50;
const STEPS: u64 = 6_000;

/// What is wrong with the world.
#[derive(Debug, Clone, Copy)]
struct World {
    /// The most that a clock is fast or slow, in thousandths.
    drift: u64,
    /// Pauses that the clocks of the machine tell of; otherwise neither does.
    pauses_are_seen: bool,
}

const REAL: World = World { drift: 10, pauses_are_seen: true };

/// The clocks of a machine.
struct Clocks {
    reading: ClockReading,
    /// How much time passes on it in a step.
    step: Duration,
}

struct Machine {
    session: SessionId,
    clocks: Clocks,
    lease: Lease,
    observer: Observer,
    /// Until this step it does nothing.
    stopped_until: u64,
    cut_until: u64,
    next_beat: Duration,
    /// A beat under way: when it was sent, when it reaches the engine, when its answer is there.
    beat: Option<Flight>,
}

struct Flight {
    sent: ClockReading,
    arrives: u64,
    returns: u64,
    answer: Answered,
}

/// What the engine said to a beat.
#[derive(Clone, Copy)]
enum Answered {
    Beaten,
    Ended,
    /// The engine was away.
    Nothing,
}

/// What came of a run.
#[derive(Debug, Default)]
struct Tally {
    ended: u32,
    /// Sessions that were ended while their machine would still have answered from memory.
    wrong: u32,
    /// Sessions that were ended although nothing was wrong with them.
    needless: u32,
    held_steps: u64,
}

struct Chance(Env);

impl Chance {
    fn below(&self, end: u64) -> u64 {
        self.0.random_u64() % end.max(1)
    }

    fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn now<T>(answer: Answer<T>) -> T {
    let mut answer = answer;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match answer.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("an engine in memory answers at once"),
    }
}

impl Machine {
    fn start(number: u64, world: World, chance: &Chance, engine: &MemoryEngine) -> Machine {
        let session = SessionId::new(number);
        let new =
            NewMember { session, name: number.to_string(), addresses: String::new(), level_max: 1 };
        now(engine.register(new)).unwrap();
        // Off by up to an hour, and up to the drift fast or slow.
        let drift = chance.below(2 * world.drift + 1);
        let boot = Duration::from_micros(chance.below(1_000_000_000));
        let wall = Duration::from_secs(1_000_000 + chance.below(7_200));
        let step = Duration::from_micros(STEP_MS * (1_000 - world.drift + drift));
        let clocks = Clocks { reading: ClockReading { boot, wall }, step };
        Machine {
            session,
            next_beat: Duration::ZERO,
            clocks,
            lease: Lease::new(),
            observer: Observer::new(session),
            stopped_until: 0,
            cut_until: 0,
            beat: None,
        }
    }

    fn read(&self) -> ClockReading {
        self.clocks.reading
    }

    /// Time passes, also for a machine that is stopped: how its clocks tell of it depends on what stopped it.
    fn pass(&mut self, step: u64, world: World) {
        let Clocks { reading, step: passed } = &mut self.clocks;
        let is_stopped = step < self.stopped_until;
        // Suspended, both clocks go on; stopped by its host, the wall clock is right when it wakes.
        let is_suspended = self.session.get().is_multiple_of(2);
        if !is_stopped || world.pauses_are_seen && is_suspended {
            reading.boot += *passed;
        }
        if !is_stopped || world.pauses_are_seen {
            reading.wall += *passed;
        }
    }
}

fn run(seed: u64, world: World) -> Tally {
    let env = Env::fixed(seed, 0);
    let chance = Chance(Env::fixed(seed ^ 0xC10C, 0));
    let engine = MemoryEngine::new(&env);
    let mut machines: Vec<Machine> =
        (1..=4).map(|number| Machine::start(number, world, &chance, &engine)).collect();
    let mut tally = Tally::default();
    let mut away_until = 0;
    for step in 0..STEPS {
        if step == away_until {
            engine.set_away(false);
        }
        if chance.one_in(2_000) {
            engine.set_away(true);
            away_until = step + 1 + chance.below(400);
        }
        for machine in &mut machines {
            if chance.one_in(2_000) {
                machine.stopped_until = step + chance.below(400);
            }
            if chance.one_in(2_000) {
                machine.cut_until = step + chance.below(400);
            }
            if chance.one_in(10_000) {
                // Somebody sets the clock.
                machine.clocks.reading.wall += Duration::from_millis(chance.below(3_600_000));
            }
            machine.pass(step, world);
        }
        for index in 0..machines.len() {
            act(&mut machines, index, step, &engine, &chance, &mut tally);
        }
    }
    tally
}

fn act(
    machines: &mut [Machine],
    index: usize,
    step: u64,
    engine: &MemoryEngine,
    chance: &Chance,
    tally: &mut Tally,
) {
    let machine = &mut machines[index];
    // A statement that was sent arrives even if its sender is stopped by now.
    if let Some(flight) = machine.beat.as_mut().filter(|it| it.arrives == step) {
        let beat = now(engine.beat(machine.session));
        flight.answer = match beat.map(|it| it.beat) {
            Ok(Some(_)) => Answered::Beaten,
            Ok(None) => Answered::Ended,
            Err(_) => Answered::Nothing,
        };
    }
    if step < machine.stopped_until {
        return;
    }
    let reading = machine.read();
    if let Some(flight) = machine.beat.take_if(|it| it.returns <= step) {
        match flight.answer {
            Answered::Beaten => {
                machine.lease.acknowledge(flight.sent, reading);
                machine.observer.own_beat(reading);
            }
            Answered::Ended => machine.lease.end(),
            Answered::Nothing => {}
        }
    }
    tally.held_steps += u64::from(machine.lease.is_held(reading));
    if step < machine.cut_until {
        return;
    }
    if machine.beat.is_none() && reading.boot >= machine.next_beat {
        machine.next_beat = reading.boot + BEAT_INTERVAL;
        let arrives = step + 1 + chance.below(if chance.one_in(20) { 60 } else { 4 });
        let returns = arrives + 1 + chance.below(if chance.one_in(20) { 60 } else { 4 });
        machine.beat = Some(Flight { sent: reading, arrives, returns, answer: Answered::Nothing });
        if let Ok(members) = now(engine.members()) {
            machine.observer.observe(reading, reading, &members);
        }
    }
    let overdue = machine.observer.overdue(reading);
    for (session, beat) in overdue {
        if now(engine.end(session, beat)) == Ok(true) {
            let victim = machines.iter().find(|it| it.session == session).unwrap();
            tally.ended += 1;
            // What the victim would say if it were asked now: when it is stopped, at the moment it wakes.
            tally.wrong += u32::from(victim.lease.is_held(victim.read()));
            tally.needless += u32::from(step >= victim.stopped_until && step >= victim.cut_until);
        }
    }
}

/// All seeds in one.
fn runs(world: World) -> Tally {
    let mut total = Tally::default();
    for seed in 0..100 {
        let tally = run(seed, world);
        total.ended += tally.ended;
        total.wrong += tally.wrong;
        total.needless += tally.needless;
        total.held_steps += tally.held_steps;
    }
    total
}

#[test]
fn no_session_is_ended_that_would_still_answer_from_memory() {
    let total = runs(REAL);
    assert_eq!(total.wrong, 0, "{total:?}");
    // Something happened: sessions were ended, and most of the time leases were held.
    assert!(total.ended > 50, "{total:?}");
    assert!(total.held_steps > 100 * STEPS, "{total:?}");
    // Nobody is ended for nothing: a tenth may just have come back.
    assert!(total.needless * 10 <= total.ended, "{total:?}");
}

/// The assumption of leases, and that the run above can tell.
#[test]
fn pauses_that_no_clock_sees_and_wild_drift_are_what_leases_cannot_bear() {
    assert!(runs(World { pauses_are_seen: false, ..REAL }).wrong > 0);
    assert!(runs(World { drift: 200, ..REAL }).wrong > 0);
}
