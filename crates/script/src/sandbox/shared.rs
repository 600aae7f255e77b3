//! Engines that serve many runs, of whatever scripts may share one.
//!
//! Three things make the global of every run fresh:
//! - the language is locked: everything that is reachable from the global is frozen, so nothing can be kept in it;
//! - what the language puts into the global is in a prototype of it that is locked too; what a run adds to the global
//!   is taken away;
//! - a script that mentions what could tell the difference has an engine for every run: see [`analysis`](super::analysis).
//!
//! The first two are the wall: a script can build any name while it runs. `attacks/` tries to get past them.
//!
//! An engine goes on only after runs that ended well, and that left little memory in use: what is there counts for the
//! run that comes next.

use rquickjs::object::Filter;
use rquickjs::{Atom, Ctx, Function, Module, Object, Persistent};

use super::Sandbox;

// Limit: runs of one engine, so that what its collector leaves behind has an end.
const RUNS_MAX: u32 = 30_000;

// Limit: variables of the global that are taken away after a run. More of them take longer than a new engine.
const ADDED_MAX: usize = 1_000;

/// What looks after the global of an engine that serves several runs.
pub(super) struct Guard {
    /// Forgets the run; false or an error if the global cannot be made as it was.
    reset: Persistent<Function<'static>>,
    /// Takes away what was added to the global; false if it could not.
    sweep: Persistent<Function<'static>>,
    n_globals: usize,
    runs_left: u32,
}

impl Guard {
    /// Makes the global as fresh as before the run; false if that is not possible.
    fn renew(&self, ctx: &Ctx<'_>) -> rquickjs::Result<bool> {
        if !self.reset.clone().restore(ctx)?.call::<_, bool>(())? {
            return Ok(false);
        }
        // Nothing that was there can be deleted, so the number tells whether something was added.
        match n_globals(ctx).checked_sub(self.n_globals) {
            Some(0) => Ok(true),
            Some(n_added) if n_added <= ADDED_MAX => self.sweep.clone().restore(ctx)?.call(()),
            _ => Ok(false),
        }
    }
}

fn n_globals(ctx: &Ctx<'_>) -> usize {
    ctx.globals().own_keys::<Atom<'_>>(Filter::new().string().symbol()).len()
}

impl Sandbox {
    /// Locks the language, so that the engine can serve several runs.
    pub(super) fn lock(&mut self) -> rquickjs::Result<()> {
        let guard = self.context.with(|ctx| {
            let module: Object<'_> = Module::import(&ctx, "lock")?.finish()?;
            let lock: Function<'_> = module.get("lock")?;
            let sweep: Function<'_> = self.api(&ctx, "lock")?.call((lock,))?;
            let reset = Persistent::save(&ctx, self.api(&ctx, "reset")?);
            let sweep = Persistent::save(&ctx, sweep);
            let n_globals = n_globals(&ctx);
            Ok::<_, rquickjs::Error>(Guard { reset, sweep, n_globals, runs_left: RUNS_MAX })
        })?;
        self.guard = Some(guard);
        // Every run may use as much memory as it could in an engine of its own.
        self.memory_bytes_max += self.kept_bytes_max;
        self.runtime.set_memory_limit(self.memory_bytes_max);
        Ok(())
    }

    /// Makes the engine as fresh as before the run that it has just served; false if it cannot serve another one.
    pub(crate) fn renew(&mut self) -> bool {
        let Some(guard) = self.guard.as_mut().filter(|guard| guard.runs_left > 0) else {
            return false;
        };
        guard.runs_left -= 1;
        let is_fresh = self.context.with(|ctx| {
            // An error that stays pending would be taken for one of the next run.
            guard.renew(&ctx).unwrap_or_else(|_| {
                ctx.catch();
                false
            })
        });
        is_fresh && self.has_room()
    }

    /// Says whether little enough memory is in use, if need be after a look for cycles.
    fn has_room(&self) -> bool {
        // A run that needed much has put the collector off.
        self.runtime.set_gc_threshold(self.kept_bytes_max);
        if self.keeps_little() {
            return true;
        }
        self.runtime.run_gc();
        self.keeps_little()
    }

    /// Asks for a little memory below a lower limit: to count what is in use would take as long as a run.
    fn keeps_little(&self) -> bool {
        self.runtime.set_memory_limit(self.kept_bytes_max);
        let keeps_little = self.context.with(|ctx| {
            let is_given = Object::new(ctx.clone()).is_ok();
            if !is_given {
                ctx.catch();
            }
            is_given
        });
        self.runtime.set_memory_limit(self.memory_bytes_max);
        keeps_little
    }
}

#[cfg(test)]
mod tests {
    use model::Env;

    use super::*;
    use crate::limits::Limits;

    fn shared() -> Sandbox {
        Sandbox::shared(&Env::system(), &Limits::service()).unwrap()
    }

    fn after(text: &str) -> (bool, bool) {
        let mut sandbox = shared();
        let mut run = |text: &str| {
            let mut options = rquickjs::context::EvalOptions::default();
            options.strict = false;
            let ran =
                sandbox.context().with(|ctx| ctx.eval_with_options::<(), _>(text, options).is_ok());
            sandbox.renew() && ran
        };
        (run(text), run("if (typeof left !== 'undefined') throw 1;"))
    }

    #[test]
    fn an_engine_is_kept_only_when_it_is_as_it_was() {
        assert_eq!(after("left = 1"), (true, true));
        assert_eq!(
            after("globalThis[Symbol('left')] = 1; delete globalThis.nothing"),
            (true, true)
        );
        assert_eq!(after("delete globalThis.parseInt; parseInt('1')"), (true, true));
        assert_eq!(after("parseInt = 1; JSON = 2"), (true, true));
        for text in [
            "var left = 1",
            "Object.defineProperty(globalThis, 'left2', {value: 1})",
            "Object.defineProperty(globalThis, 'parseInt', {writable: false})",
            "Object.preventExtensions(globalThis)",
            "Object.setPrototypeOf(globalThis, {left2: 1})",
            "for (i = 0; i < 2000; i++) globalThis['left' + i] = 1",
            "Object.defineProperty(globalThis, 'JSON', {get() { return 1; }})",
        ] {
            assert!(!after(text).0, "{text}");
        }
    }

    #[test]
    fn what_the_global_has_before_a_run_is_there_to_stay() {
        let own = "Object.values(Object.getOwnPropertyDescriptors(globalThis))";
        let text = format!("{own}.every(it => !it.configurable && !it.writable)");
        let is_fixed = |sandbox: Sandbox| sandbox.context().with(|ctx| ctx.eval::<bool, _>(&*text));
        assert!(is_fixed(shared()).unwrap());
    }

    #[test]
    fn an_engine_serves_so_many_runs_and_no_more() {
        let mut sandbox = shared();
        assert!((0..RUNS_MAX).all(|_| sandbox.renew()));
        assert!(!sandbox.renew());
    }
}
