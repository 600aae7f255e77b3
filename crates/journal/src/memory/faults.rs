//! Fault injection: what goes wrong with which call, by a script or under a seed.

use model::Env;

/// What a call is, for plans that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Appends.
    Append,
    /// Opens and seals.
    Open,
    /// Beats.
    Beat,
    /// All other calls that change something.
    Change,
    /// Calls that change nothing.
    Read,
}

/// What goes wrong with one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The engine refuses it and is usable: deadlock, serialization failure, out of resources. Surely not done.
    Refused,
    /// The connection is lost before the engine has the statement: in doubt, and never done.
    LostBefore,
    /// The connection is lost after the commit: in doubt, and done for good.
    LostAfter,
    /// The wait for the standby was cancelled: in doubt, visible, and gone after a promotion unless something later was acknowledged.
    Unproven,
    /// The statement is stuck on its way: in doubt, and done after so many further calls, if it is still allowed then.
    Late(u32),
    /// The engine is away for this and so many further calls: surely not done.
    Away(u32),
}

/// A fault that waits for its call.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedFault {
    /// Which calls count.
    pub call: CallKind,
    /// How many of them go well before.
    pub after: u32,
    /// What goes wrong then.
    pub fault: Fault,
}

/// How often something goes wrong, in calls of a thousand.
#[derive(Debug, Clone, Copy)]
pub struct FaultRates {
    /// [`Fault::Refused`]; for reads too.
    pub refused: u32,
    /// [`Fault::LostBefore`]
    pub lost_before: u32,
    /// [`Fault::LostAfter`]
    pub lost_after: u32,
    /// [`Fault::Unproven`]
    pub unproven: u32,
    /// [`Fault::Late`], by up to 20 calls.
    pub late: u32,
    /// [`Fault::Away`], for up to 10 calls.
    pub away: u32,
}

impl FaultRates {
    /// One call in seven goes wrong, in every way.
    pub const MANY: FaultRates = FaultRates {
        refused: 30,
        lost_before: 30,
        lost_after: 30,
        unproven: 30,
        late: 30,
        away: 3,
    };
}

/// What goes wrong when.
#[derive(Debug)]
pub(super) enum FaultPlan {
    None,
    Script(Vec<ScriptedFault>),
    Seeded(Env, FaultRates),
}

impl FaultPlan {
    /// Decides about the next call.
    pub(super) fn next(&mut self, call: CallKind) -> Option<Fault> {
        match self {
            FaultPlan::None => None,
            FaultPlan::Script(waiting) => {
                let mine = waiting.iter_mut().enumerate().find(|(_, it)| it.call == call);
                let (index, next) = mine?;
                if next.after > 0 {
                    next.after -= 1;
                    return None;
                }
                Some(waiting.remove(index).fault)
            }
            FaultPlan::Seeded(env, rates) => draw(env, rates),
        }
    }
}

fn draw(env: &Env, rates: &FaultRates) -> Option<Fault> {
    let below = |end: u64| u32::try_from(env.random_u64() % end).unwrap_or(0);
    let mut left = below(1_000);
    let table = [
        (rates.refused, Fault::Refused),
        (rates.lost_before, Fault::LostBefore),
        (rates.lost_after, Fault::LostAfter),
        (rates.unproven, Fault::Unproven),
        (rates.late, Fault::Late(1 + below(20))),
        (rates.away, Fault::Away(below(10))),
    ];
    for (rate, fault) in table {
        if left < rate {
            return Some(fault);
        }
        left -= rate;
    }
    None
}
