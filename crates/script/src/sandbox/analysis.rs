//! Static analysis of a script: how its text says it can be run.

use std::sync::OnceLock;

use super::{Entry, Sandbox};
use crate::inline_check::{Natives, may_run_inline};

/// Found once per version of a script: to look for all the words takes longer than a small script runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptAnalysis {
    /// The smallest prelude that serves it.
    pub(crate) entry: Entry,
    /// Whether its runs may share an engine with others.
    pub(crate) may_share: bool,
    /// Whether its functions see only the arguments that they name.
    pub(crate) is_plain: bool,
    /// Whether the engine can stop it at any moment.
    pub(crate) may_run_inline: bool,
}

impl ScriptAnalysis {
    pub(crate) fn of(body: &str) -> ScriptAnalysis {
        let may_share = may_share(body);
        // What may share makes no code of text, if it does not go out of its way to do so unseen. `delete` could hide
        // how many arguments a function names.
        let is_plain = may_share
            && !["arguments", "...", "delete"].iter().any(|it| body.contains(it))
            && body.split("function").skip(1).all(has_plain_names);
        let may_run_inline =
            may_share && natives().is_some_and(|natives| may_run_inline(body, natives));
        ScriptAnalysis { entry: Entry::of(body), may_share, is_plain, may_run_inline }
    }
}

/// The names of all native functions; `None` if the engine could not tell.
fn natives() -> Option<&'static Natives> {
    static NATIVES: OnceLock<Option<Natives>> = OnceLock::new();
    let find = || Natives::parse(&Sandbox::names_of_natives().ok()?);
    NATIVES.get_or_init(find).as_ref()
}

/// Says whether what follows the word `function` begins with a list of plain names, so that the function's length tells
/// how many there are: those with a default value do not count.
fn has_plain_names(rest: &str) -> bool {
    let is_plain =
        |text: &str| text.chars().all(|it| is_name(it) || it == ',' || it.is_whitespace());
    let parts = rest.split_once('(').and_then(|(own, rest)| Some((own, rest.split_once(')')?.0)));
    parts.is_some_and(|(own, names)| is_plain(own) && is_plain(names))
}

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

/// Variables of the language and of the server, to which a script might give another value, or add something of its own.
#[rustfmt::skip]
const BUILT_IN: [&str; 58] = [
    "Object", "Array", "String", "Number", "Boolean", "Math", "JSON", "Date", "RegExp", "Promise", "Map", "Set",
    "WeakMap", "WeakSet", "Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError",
    "BigInt", "Iterator", "ArrayBuffer", "DataView", "Atomics", "getContext", "console", "ErrorCodes",
    "InternalError", "AggregateError", "SuppressedError", "parseInt", "parseFloat", "isNaN", "isFinite",
    "queueMicrotask", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "unescape",
    "DisposableStack", "AsyncDisposableStack", "SharedArrayBuffer", "Uint8ClampedArray", "Int8Array", "Uint8Array",
    "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float16Array", "Float32Array", "Float64Array",
    "BigInt64Array", "BigUint64Array",
];

/// Words that could tell that the global has what the language offers from its prototype, and where it is read-only.
const OWN: [&str; 2] = ["hasOwn", "getOwn"];

/// Methods that a script might put on an array, a function or the like in the place of the inherited one.
#[rustfmt::skip]
const METHODS: [&str; 57] = [
    "add", "apply", "at", "bind", "call", "catch", "clear", "concat", "copyWithin", "delete", "entries", "every",
    "exec", "fill", "filter", "finally", "find", "findIndex", "findLast", "findLastIndex", "flat", "flatMap",
    "forEach", "get", "has", "includes", "indexOf", "join", "keys", "lastIndexOf", "map", "next", "pop", "push",
    "reduce", "reduceRight", "return", "reverse", "set", "shift", "slice", "some", "sort", "splice", "test", "then",
    "throw", "toJSON", "toLocaleString", "toReversed", "toSorted", "toSpliced", "toString", "unshift", "valueOf",
    "values", "with",
];

/// Says whether runs of this body may share an engine.
fn may_share(body: &str) -> bool {
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
        // The global has no other name that is not among the words.
        && !(body.contains("this") && (says(&OWN, |_, _, _| true) || says(&BUILT_IN, is_assigned)))
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
    if is_another || rest.starts_with('(') || is_looked_at(&body[..at], rest) {
        return false;
    }
    match rest.strip_prefix('.') {
        Some(rest) => is_written(rest.trim_start().trim_start_matches(is_name)),
        None => true,
    }
}

/// Says whether what stands between these is only compared with, or called for each element of a list.
fn is_looked_at(before: &str, after: &str) -> bool {
    let before = before.trim_end();
    let is_called =
        [".map(", ".filter("].iter().any(|it| before.ends_with(it)) && after.starts_with(')');
    is_called || before.ends_with(" instanceof")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_change_the_language_have_engines_of_their_own() {
        for body in [
            "function () { Array.prototype.last = 1; }",
            "function () { Math.clamp = function () {}; }",
            "function () { Math . n += 1; Math.n++; }",
            "function () { JSON [ 'x' ] = 1; }",
            "function () { var m = Math; m.x = 1; }",
            "function () { [Object].forEach(f); list.map(Math, f); }",
            "function () { list.map(f, Math); }",
            "function () { getContext.seen = (getContext.seen || 0) + 1; }",
            "function () { list.find = function () {}; }",
            "function () { date.toJSON = function () {}; list.toString = f; }",
            "function () { x.__proto__.y = 1; }",
            "function () { x.\\u0070rototype = 1; }",
            "class A extends B {}",
            "function () { delete parseInt; }",
            "function () { delete this.parseInt; }",
            "function () { delete (parseInt); }",
            "function () { [parseInt] = [1]; ({ a: Uint8Array } = {}); for (escape of []); }",
            "function () { this.JSON = {}; }",
            "function () { var it = this; it . parseInt += 1; }",
            "function () { return this.hasOwnProperty('JSON') || Object.hasOwn(this, 'Map'); }",
            "function () { return Object.getOwnPropertyNames(this); }",
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
            "function () { if (e instanceof Error && !(e instanceof TypeError)) list.map(Number).filter(Boolean); }",
            "function () { delete item.x; delete item [y]; __.deleteDocument(link); m.delete(1); }",
            "function () { this.total = parseInt(x); }",
            "function () { if (item.hasOwnProperty('x')) item.Date = escape(y); }",
        ] {
            assert!(may_share(body), "{body}");
        }
    }

    #[test]
    fn no_variable_of_the_language_gets_another_value_in_an_engine_that_is_shared() {
        let limits = crate::limits::Limits::service();
        let sandbox = Sandbox::blank(Entry::Full, &model::Env::system(), &limits).unwrap();
        let names: Vec<String> = sandbox.context().with(|ctx| {
            let all = "Object.entries(Object.getOwnPropertyDescriptors(globalThis))";
            ctx.eval(format!("{all}.filter(([, it]) => it.writable).map(([name]) => name)"))
                .unwrap()
        });
        assert!(names.len() > 50, "{names:?}");
        for name in names {
            for body in
                [format!("() => {{ {name} = 1; }}"), format!("() => {{ this.{name} = 1; }}")]
            {
                assert!(!may_share(&body), "{body}");
            }
        }
    }

    #[test]
    fn the_names_of_all_natives_are_known() {
        let names = Sandbox::names_of_natives().unwrap();
        let (variables, properties) = names.split_once('\n').unwrap();
        let has = |line: &str, name| line.split(' ').any(|it| it == name);
        for name in ["eval", "parseInt", "Array", "getContext", "toString", "hasOwnProperty"] {
            assert!(has(variables, name), "{name}");
        }
        for name in [
            "indexOf",
            "from",
            "repeat",
            "stringify",
            "next",
            "then",
            "with",
            "for",
            "isWellFormed",
        ] {
            assert!(has(properties, name) && !has(variables, name), "{name}");
        }
        assert!(properties.split(' ').count() > 300);
        assert!(!has(properties, "total") && !has(properties, ""));
    }

    #[test]
    fn functions_see_more_than_they_name_only_in_scripts_that_say_so() {
        assert!(
            ScriptAnalysis::of("function () { f(function (err) { if (err) throw err; }); }")
                .is_plain
        );
        for body in [
            "function () { f(function (err) { return arguments[1]; }); }",
            "function () { f(function (err, ...rest) {}); }",
            "function () { f(new Function('return 1')); }",
            "function () { function g(err, item) {} delete g.length; }",
            "function () { f(function (err, item = {}) {}); }",
            "function () { f(function (err, { id }) {}); }",
            "function () { f(function /* (x) */ (err = 0, item) {}); }",
        ] {
            assert!(!ScriptAnalysis::of(body).is_plain, "{body}");
        }
    }
}
