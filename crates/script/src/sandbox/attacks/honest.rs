//! What scripts of good will do, in an engine that they share and in one of their own.

use super::{Entry, Env, Limits, PROCEDURE, Sandbox, asking, play, shared};
use crate::sandbox::ScriptAnalysis;

/// Each gives a value.
#[rustfmt::skip]
const SHARING: [&str; 34] = [
    "var e = new Error('x'); e.name = 'Mine'; e.message = 'y'; e.code = 5; return [e.toString(), Object.keys(e), e.code]",
    "'use strict'; try { null.x; } catch (e) { e.name = 'Mine'; e.number = 7; return [e.name, '' + e, Object.keys(e)]; }",
    "'use strict'; var e = new RangeError('x'); Object.assign(e, {name: 'N', message: 'm', stack: 's'}); return [e.name, e.message, e.stack, '' + e]",
    "'use strict'; var e = new AggregateError([1], 'x'); e.name = 'N'; e.message = 'm'; return ['' + e, e.errors]",
    "class Point { x = 1; #y = 2; get y() { return this.#y; } toString() { return this.x + ',' + this.y; } static of() { return new Point(); } } return [`${Point.of()}`, Point.name, typeof Point]",
    "this.counter = (this.counter || 0) + 1; counter++; return [counter, typeof counter, 'counter' in this]",
    "var list = [3, 1, 2]; list.total = 6; list.length = 2; list[5] = 1; return [list.sort(), Object.keys(list), list.length]",
    "var list = [3, 10, 2]; return [list.sort(), list.sort((a, b) => a - b), list.map(String).join(), list.includes(10), [...list.entries()]]",
    "var m = new Map([[1, 'a']]); m.set('k', {v: 1}); m.extra = 1; return [[...m], m.size, Object.keys(m), Object.fromEntries([['a', 1]])]",
    "var s = new Set('hello'); s.delete('h'); return [[...s], s.has('l'), s.size]",
    "function* range(n) { for (var i = 0; i < n; i++) yield i; } var it = range(3); it.label = 'x'; return [[...range(4)], it.next(), it.label]",
    "var d = new Date(86400000); d.label = 'x'; d.setUTCDate(5); return [d.toISOString(), JSON.stringify(d), d.label, typeof Date.now(), new Date(NaN).getTime()]",
    "var r = /(\\d+)-(?<w>\\w+)/g; r.label = 'x'; var m = r.exec('12-ab'); return [m[1], m.groups.w, r.lastIndex, 'a1b2'.replace(/\\d/g, x => x * 2), r.label]",
    "var o = {get a() { return 1; }, set a(v) { this.b = v; }, ['c' + 1]: 2, toJSON() { return this.a + this.c1; }}; o.a = 3; return [JSON.stringify(o), o.b]",
    "var {a, ...rest} = {a: 1, b: 2, toString: 3}; var [x, , y = 4, ...z] = [1, 2, undefined, 5]; return [a, rest, x, y, z]",
    "var o = JSON.parse('{\"__pro\" : 1, \"constr\": {\"a\": [1, null, true]}, \"toString\": 1, \"valueOf\": 2}'); return [o, {...o}, Object.assign({}, o), Object.entries(o)]",
    "return [parseInt('12px'), Number('0x10'), isNaN('x'), (0.1 + 0.2).toFixed(2), encodeURIComponent('ä/'), escape('ä'), 5n ** 20n > 1n]",
    "return [typeof undefined, void 0 === undefined, [] + {}, [1, [2, [3]]].flat(Infinity), 'x'.padStart(3, '-'), 'abc'.at(-1)]",
    "var f = function named(a, b) { return named.length; }; f.cache = {a: 1}; return [f(), f.name, f.cache, f.bind(null, 1).length, Object.keys(f)]",
    "function f() { f.calls = (f.calls || 0) + 1; return arguments.length; } f(1); f(1, 2); return [f.calls, f.call(null, 1), f.apply(null, [1, 2, 3])]",
    "function f(a) { arguments[0] = 9; return a; } return [f(1), (function (a) { 'use strict'; arguments[0] = 9; return a; })(1)]",
    "var o = {}; try { o.x.y = 1; } catch (e) { return [e instanceof TypeError, e instanceof Error, e.name, e.message]; }",
    "try { throw new Error(409, 'taken'); } catch (e) { return [e.number, e.message, e instanceof Error, Object.keys(e)]; }",
    "try { notDefined; } catch (e) { return [e.name, e.message, 'stack' in e]; }",
    "try { JSON.parse('{'); } catch (e) { return [e.name, e instanceof SyntaxError]; }",
    "var tag = (strings, ...values) => strings.raw.join('|') + values.join(); return tag`a${1}b${2}c`",
    "var bytes = new Uint8Array([1, 2, 300]); bytes.label = 1; return [[...bytes], bytes.label, new DataView(bytes.buffer).getUint8(1)]",
    "outer: for (var i = 0; i < 3; i++) for (var j = 0; j < 3; j++) if (j === 1) continue outer; else if (i === 2) break outer; return [i, j]",
    "var o = {a: {b: null}}; return [o?.a?.b ?? 'none', o.x?.y, o.a.b ||= 5, o, 2 ** 10, 7 % 3, -7 >> 1, ~5]",
    "var c = {n: 0, up() { return ++this.n; }}; with (c) { up(); n += 5; } return c.n",
    "var w = new WeakMap(), k = {}; w.set(k, 1); return [w.get(k), w.has({}), typeof w]",
    "switch (typeof getContext()) { case 'object': return [Object.keys(getContext()), Object.keys(__.request), typeof __.filter]; }",
    "try { __.createDocument(); } catch (e) { e.message = 'm'; e.body = 'b'; e.number = 1; return [e.number, e.body, '' + e, Object.keys(e)]; }",
    "var text = ''; for (var name in {a: 1, b: 2}) text += name; for (name in [7, 8]) text += name; for (name in 'xy') text += name; return text",
];

/// The same, in words that could mean harm.
#[rustfmt::skip]
const APART: [&str; 6] = [
    "var counts = {}; for (var w of 'a toString constructor valueOf a hasOwnProperty'.split(' ')) counts[w] = (+counts[w] || 0) + 1; return [counts, Object.keys(counts)]",
    "'use strict'; var o = {}; o.toString = function () { return 'x'; }; o.valueOf = null; o.hasOwnProperty = 1; return ['' + o.toString(), Object.keys(o), o]",
    "'use strict'; try { undefined(); } catch (e) { e.message += '!'; e.toString = () => 'z'; return [e.message, '' + e]; }",
    "function Mine(text) { this.name = 'Mine'; this.message = text; this.toString = function () { return this.name; }; } return '' + new Mine('x')",
    "total = 0; [1, 2, 3].forEach(function (n) { total += n; }); return [total, delete this.total, typeof total]",
    "return [ErrorCodes.NotFound, typeof console.log, Object.keys(ErrorCodes).length, __.getSelfLink()]",
];

fn whole(body: &str) -> String {
    asking(&format!("JSON.stringify((function () {{ {body} }}).call(this))"))
}

/// What it answers in an engine of its own.
fn alone(body: &str) -> Result<String, String> {
    let own = Sandbox::blank(Entry::Full, &Env::system(), &Limits::service()).unwrap();
    play(&own, &whole(body), PROCEDURE)
}

#[test]
fn common_scripts_share_and_cannot_tell() {
    let mut sandbox = shared();
    let expected = SHARING.map(alone);
    // In any order, and with what was compiled before.
    for round in 0..6 {
        for index in 0..SHARING.len() {
            let at = if round % 2 == 0 { index } else { SHARING.len() - 1 - index };
            assert!(ScriptAnalysis::of(SHARING[at]).may_share, "{}", SHARING[at]);
            assert!(expected[at].is_ok(), "{:?}", expected[at]);
            assert_eq!(play(&sandbox, &whole(SHARING[at]), PROCEDURE), expected[at]);
            assert!(sandbox.renew(), "{}", SHARING[at]);
        }
    }
}

#[test]
fn scripts_that_might_tell_mostly_could_not() {
    for body in APART {
        assert!(!ScriptAnalysis::of(body).may_share, "{body}");
        assert_eq!(play(&shared(), &whole(body), PROCEDURE), alone(body), "{body}");
    }
}
