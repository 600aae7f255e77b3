//! Engines that serve several runs of one script.
//!
//! Three things make the global of every run fresh:
//! - the language is locked: everything that is reachable from the global is frozen, so nothing can be kept in it;
//! - after a run the global itself is compared with what it was, and what was added is taken away;
//! - a script that mentions what could tell the difference, or get around it, has an engine for every run.
//!
//! An engine serves one version of one script, and only after runs that ended well.

use rquickjs::{Function, Module, Object};

use super::Sandbox;

// Limit: runs of one engine, so that what its collector leaves behind has an end.
const RUNS_MAX: u32 = 2_000;

/// Words of scripts that change the language or look at it closely. A locked one would answer them differently.
const WORDS: [&str; 22] = [
    "prototype",
    "__proto__",
    "__define",
    "__lookup",
    "defineProp",
    "PrototypeOf",
    "constructor",
    "Reflect",
    "Proxy",
    "Symbol",
    "Function",
    "eval",
    "globalThis",
    "extends",
    "super",
    "import",
    "freeze",
    "isFrozen",
    "seal",
    "isSealed",
    "xtensib",
    "Descriptor",
];

/// Objects of the language to which a script might add something of its own.
#[rustfmt::skip]
const BUILT_IN: [&str; 29] = [
    "Object", "Array", "String", "Number", "Boolean", "Math", "JSON", "Date", "RegExp", "Promise", "Map", "Set",
    "WeakMap", "WeakSet", "Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError",
    "BigInt", "Iterator", "ArrayBuffer", "DataView", "Atomics", "getContext", "console", "ErrorCodes",
];

/// Methods that a script might put on an array, a function or the like in the place of the inherited one.
#[rustfmt::skip]
const METHODS: [&str; 52] = [
    "add", "apply", "at", "bind", "call", "catch", "clear", "concat", "copyWithin", "delete", "entries", "every",
    "exec", "fill", "filter", "finally", "find", "findIndex", "findLast", "findLastIndex", "flat", "flatMap",
    "forEach", "get", "has", "includes", "indexOf", "join", "keys", "lastIndexOf", "map", "next", "pop", "push",
    "reduce", "reduceRight", "return", "reverse", "set", "shift", "slice", "some", "sort", "splice", "test", "then",
    "throw", "toReversed", "toSorted", "toSpliced", "unshift", "values",
];

/// Says whether runs of this body may share an engine.
pub(crate) fn may_share(body: &str) -> bool {
    // An escape may spell any word.
    let is_plain = !body.contains("\\u") && !body.contains("\\x");
    let says = |words: &[&str], found: fn(&str, usize, &str) -> bool| {
        let mut found = words
            .iter()
            .flat_map(|word| body.match_indices(word).map(move |(at, word)| found(body, at, word)));
        found.any(|found| found)
    };
    is_plain
        && !says(&WORDS, |_, _, _| true)
        && !says(&BUILT_IN, is_more_than_used)
        && !says(&METHODS, is_assigned)
        && !says(&["delete"], is_delete_of_global)
}

/// Says whether this may delete a variable of the global: in a locked engine all that the language put there stays.
fn is_delete_of_global(body: &str, at: usize, word: &str) -> bool {
    let rest = &body[at + word.len()..];
    let before = body[..at].chars().next_back();
    if before.is_some_and(|it| is_name(it) || it == '.') || rest.starts_with(is_name) {
        return false;
    }
    let rest = rest.trim_start();
    let after = rest.trim_start_matches(is_name);
    let is_property = after.trim_start().starts_with(['.', '[', '?']);
    !is_property || after.len() == rest.len() || &rest[..rest.len() - after.len()] == "this"
}

/// Says whether the built-in object at this place may be changed, or handed to something that changes it: true unless
/// it is called, or read with a dot. Says yes too often rather than too rarely.
fn is_more_than_used(body: &str, at: usize, name: &str) -> bool {
    let before = body[..at].chars().next_back();
    let after = body[at + name.len()..].chars().next();
    // Part of a longer name, a property, or a text.
    let is_another =
        before.is_some_and(|it| is_name(it) || ".'\"`".contains(it)) || after.is_some_and(is_name);
    let rest = body[at + name.len()..].trim_start();
    if is_another || rest.starts_with('(') {
        return false;
    }
    match rest.strip_prefix('.') {
        Some(rest) => is_written(rest.trim_start().trim_start_matches(is_name)),
        None => true,
    }
}

/// Says whether the method named at this place is assigned to.
fn is_assigned(body: &str, at: usize, name: &str) -> bool {
    let rest = &body[at + name.len()..];
    body[..at].trim_end().ends_with('.') && !rest.starts_with(is_name) && is_written(rest)
}

/// Says whether this is what follows the left side of an assignment.
fn is_written(rest: &str) -> bool {
    let rest = rest.trim_start();
    let compares = rest.starts_with("==") || rest.starts_with("=>");
    let plain = rest.starts_with('=') && !compares;
    let compound = rest.find('=').is_some_and(|at| {
        (1..=3).contains(&at)
            && rest[..at].chars().all(|it| "+-*/%&|^?<>".contains(it))
            && !(at == 1 && rest.starts_with(['<', '>']))
    });
    plain || compound || rest.starts_with("++") || rest.starts_with("--") || rest.starts_with('[')
}

fn is_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_' || it == '$'
}

impl Sandbox {
    /// Locks the language, so that the engine can serve several runs.
    pub(super) fn lock(&mut self) -> rquickjs::Result<()> {
        self.context.with(|ctx| {
            let module: Object<'_> = Module::import(&ctx, "lock")?.finish()?;
            let lock: Function<'_> = module.get("lock")?;
            self.api(&ctx, "lock")?.call::<_, ()>((lock,))
        })?;
        self.runs_left = RUNS_MAX;
        Ok(())
    }

    /// Makes the engine as fresh as before the run that it has just served; false if it cannot serve another one.
    pub(crate) fn renew(&mut self) -> bool {
        if self.runs_left == 0 {
            return false;
        }
        self.runs_left -= 1;
        self.context.with(|ctx| {
            let reset = self.api(&ctx, "reset").and_then(|reset| reset.call::<_, bool>(()));
            // An error that stays pending would be taken for one of the next run.
            reset.unwrap_or_else(|_| {
                ctx.catch();
                false
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use model::Env;

    use super::*;
    use crate::invocation::Script;
    use crate::limits::Limits;

    #[test]
    fn scripts_that_change_the_language_have_engines_of_their_own() {
        for body in [
            "function () { Array.prototype.last = 1; }",
            "function () { Math.clamp = function () {}; }",
            "function () { Math . n += 1; Math.n++; }",
            "function () { JSON [ 'x' ] = 1; }",
            "function () { var m = Math; m.x = 1; }",
            "function () { [Object].forEach(f); }",
            "function () { getContext.seen = (getContext.seen || 0) + 1; }",
            "function () { list.find = function () {}; }",
            "function () { x.__proto__.y = 1; }",
            "function () { x.\\u0070rototype = 1; }",
            "class A extends B {}",
            "function () { delete parseInt; }",
            "function () { delete this.parseInt; }",
            "function () { delete (parseInt); }",
        ] {
            assert!(!may_share(body), "{body}");
        }
        for body in [
            "function () {}",
            "function (id) { var n = Math.max(1, 2), m = Object.keys(x).length; m = n; }",
            "function () { counts[name] = (counts[name] || 0) + 1; item.total = JSON.stringify(item); }",
            "function () { if (list.find(f) === 1 || Math.PI >= 3 || Date.now() == 2) throw new Error('x'); }",
            "function () { item.Date = new Date(); item.kind = 'Map'; list.map(x => x.get); }",
            "function () { getContext().getResponse().setBody(String(ErrorCodes.NotFound)); }",
            "function () { delete item.x; delete item [y]; __.deleteDocument(link); m.delete(1); }",
        ] {
            assert!(may_share(body), "{body}");
        }
    }

    fn shared(body: &str) -> Sandbox {
        let script = Script { id: "s".into(), version: "v".into(), body: body.into() };
        Sandbox::shared(&script, &Env::system(), &Limits::service()).unwrap()
    }

    fn after(text: &str) -> (bool, bool) {
        let mut sandbox = shared("function () {}");
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
        for text in [
            "var left = 1",
            "Object.defineProperty(globalThis, 'left2', {value: 1})",
            "parseInt = 1",
            "Object.setPrototypeOf(globalThis, {left2: 1})",
            "Object.defineProperty(globalThis, 'JSON', {get() { return 1; }})",
        ] {
            assert!(!after(text).0, "{text}");
        }
    }

    #[test]
    fn an_engine_serves_so_many_runs_and_no_more() {
        let mut sandbox = shared("function () {}");
        assert!((0..RUNS_MAX).all(|_| sandbox.renew()));
        assert!(!sandbox.renew());
    }
}
