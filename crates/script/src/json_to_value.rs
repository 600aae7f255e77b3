//! An item as an object of the engine, made of its JSON text. The engine's own `JSON.parse` takes half as long again,
//! which was a tenth of the run of a short procedure.
//!
//! What the host gives was checked when it was written, so nothing of it is checked again. Whatever is not as expected
//! is left to the engine.

use std::borrow::Cow;

use model::json::{DEPTH_MAX, plain_length};
use rquickjs::object::Property;
use rquickjs::{Array, Atom, Ctx, Object, Result, String as JsString, Value};

/// Makes what `JSON.parse` would. `None` for whatever the engine must read, or refuse.
///
/// `base` is the prototype of plain objects.
pub(crate) fn data_of<'js>(
    ctx: &Ctx<'js>,
    text: &[u8],
    base: &Object<'js>,
) -> Result<Option<Value<'js>>> {
    let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
    let mut maker = Maker { ctx, base, text, at: 0 };
    let value = maker.value(0)?;
    // What follows is no part of it.
    Ok(value.filter(|_| maker.peek().is_none()))
}

struct Maker<'a, 'js> {
    ctx: &'a Ctx<'js>,
    base: &'a Object<'js>,
    text: &'a str,
    at: usize,
}

impl<'a, 'js> Maker<'a, 'js> {
    /// Recursion is bounded by the depth.
    fn value(&mut self, depth: usize) -> Result<Option<Value<'js>>> {
        match self.peek() {
            Some(b'"') => self.text(),
            Some(b'{') if depth < DEPTH_MAX => self.object(depth + 1),
            Some(b'[') if depth < DEPTH_MAX => self.array(depth + 1),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            Some(b't') => Ok(self.word("true", |ctx| Value::new_bool(ctx, true))),
            Some(b'f') => Ok(self.word("false", |ctx| Value::new_bool(ctx, false))),
            Some(b'n') => Ok(self.word("null", Value::new_null)),
            _ => Ok(None),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Option<Value<'js>>> {
        // Properties are assigned to an object without a prototype, where nothing hears of it.
        let object = Object::new_proto(self.ctx.clone(), None)?;
        self.at += 1;
        let mut is_first = true;
        while !self.takes(b'}') {
            if !is_first && !self.takes(b',') || self.peek() != Some(b'"') {
                return Ok(None);
            }
            is_first = false;
            let Some(name) = self.name()? else { return Ok(None) };
            if !self.takes(b':') {
                return Ok(None);
            }
            let Some(value) = self.value(depth)? else { return Ok(None) };
            object.set(name, value)?;
        }
        object.set_prototype(Some(self.base))?;
        Ok(Some(object.into_value()))
    }

    fn array(&mut self, depth: usize) -> Result<Option<Value<'js>>> {
        let array = Array::new(self.ctx.clone())?;
        self.at += 1;
        let mut n = 0_u32;
        while !self.takes(b']') {
            if n > 0 && !self.takes(b',') {
                return Ok(None);
            }
            let Some(value) = self.value(depth)? else { return Ok(None) };
            // Not assigned: that would call what a script put on the prototype.
            let property = Property::from(value).writable().enumerable().configurable();
            array.as_object().prop(n, property)?;
            n += 1;
        }
        Ok(Some(array.into_value()))
    }

    fn name(&mut self) -> Result<Option<Atom<'js>>> {
        let Some(text) = self.string() else { return Ok(None) };
        let ctx = self.ctx.clone();
        if text.is_ascii() {
            return Atom::from_str(ctx, &text).map(Some);
        }
        // The engine compares the bytes of a text with the characters of the names that it knows.
        let name = JsString::from_str(ctx.clone(), &text)?;
        Atom::from_value(ctx, &name).map(Some)
    }

    fn text(&mut self) -> Result<Option<Value<'js>>> {
        let Some(text) = self.string() else { return Ok(None) };
        Ok(Some(JsString::from_str(self.ctx.clone(), &text)?.into_value()))
    }

    /// What stands between the quotes that come next.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        let end = start + plain_length(self.text.as_bytes().get(start..)?);
        let plain = self.text.get(start..end)?;
        self.at = end;
        if self.takes(b'"') { Some(Cow::Borrowed(plain)) } else { self.escaped(plain) }
    }

    /// A string from its first escape on. What a `\u` stands for may be half a character, and only the engine can make
    /// a string of that.
    fn escaped(&mut self, front: &str) -> Option<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let mut text = front.to_owned();
        while bytes.get(self.at) == Some(&b'\\') {
            text.push(match bytes.get(self.at + 1)? {
                b'"' => '"',
                b'\\' => '\\',
                b'/' => '/',
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                _ => return None,
            });
            let start = self.at + 2;
            self.at = start + plain_length(bytes.get(start..)?);
            text.push_str(self.text.get(start..self.at)?);
        }
        (bytes.get(self.at) == Some(&b'"')).then(|| {
            self.at += 1;
            Cow::Owned(text)
        })
    }

    fn number(&mut self) -> Option<Value<'js>> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().take_while(is_part).count();
        let double: f64 = self.text.get(self.at..self.at + length)?.parse().ok()?;
        self.at += length;
        let ctx = self.ctx.clone();
        // A zero below zero is no integer.
        let is_negative_zero = double == 0.0 && double.is_sign_negative();
        Some(if is_negative_zero {
            Value::new_float(ctx, double)
        } else {
            Value::new_number(ctx, double)
        })
    }

    fn word(&mut self, word: &str, make: fn(Ctx<'js>) -> Value<'js>) -> Option<Value<'js>> {
        let is_next = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        is_next.then(|| make(self.ctx.clone()))
    }

    /// Moves to the next byte that is not space and returns it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Moves past the byte if it comes next.
    #[inline]
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Function, Runtime};

    use super::*;

    /// What a script finds in a value, down to what it cannot tell by its JSON.
    const DESCRIBE: &str = r"(value) => {
        const seen = (it) => typeof it !== 'object' || it === null
            ? [typeof it, Object.is(it, -0) ? '-0' : String(it)]
            : [Object.getPrototypeOf(it) === (Array.isArray(it) ? Array : Object).prototype,
               Object.isExtensible(it), it.length,
               Reflect.ownKeys(it).map((name) => {
                   const property = Object.getOwnPropertyDescriptor(it, name);
                   return [name, property.writable, property.enumerable, property.configurable, seen(property.value)];
               })];
        return JSON.stringify(seen(value));
    }";

    /// What is made here and what the engine makes.
    fn both(text: &str, before: &str) -> (Option<String>, Option<String>) {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let describe: Function<'_> = ctx.eval(DESCRIBE).unwrap();
            let base: Object<'_> = ctx.eval("Object.prototype").unwrap();
            ctx.eval::<(), _>(before).unwrap();
            let ours = data_of(&ctx, text.as_bytes(), &base).unwrap();
            let theirs = ctx.json_parse(text).ok();
            let described = |value| describe.call((value,)).unwrap();
            (ours.map(described), theirs.map(described))
        })
    }

    #[test]
    fn items_are_as_the_engine_reads_them() {
        for text in [
            r#"{"id":"a","n":1,"list":[1,"two",null,true,false,{"x":[]}],"o":{"p":{"q":-7}},"e":{}}"#,
            " { \"a\" : [ 1 ,\t2 ] ,\r\n \"b\" : { } } ",
            r#"{"numbers":[0,-0,-0.0,1.5,1e3,1E-7,1e21,2147483647,2147483648,-2147483649,0.1,123456789012345678901,1e-400]}"#,
            r#"{"b":1,"2":2,"1":3,"a":4,"01":5,"4294967295":6,"-1":7,"":8}"#,
            r#"{"__proto__":{"x":1},"toString":2,"constructor":3,"length":4,"hasOwnProperty":5}"#,
            r#"{"é":1,"Ã©":2,"日本":"語","😀":"é😀\"\\\/\b\f\n\r\t"}"#,
            r#"{"_etag":"\"0000-1\"","x":"\\","\"":"\\\\\"","y":"a\nb"}"#,
            r#"{"a":1,"a":2}"#,
            r#"[[[]],[{}],"",0]"#,
            "true",
        ] {
            let (ours, engine) = both(text, "");
            assert!(ours.is_some(), "{text}");
            assert_eq!(ours, engine, "{text}");
        }
    }

    /// Some JSON text; the bits decide which.
    fn any_text(bits: &mut u64, depth: usize, text: &mut String) {
        const NAMES: [&str; 8] = ["id", "a b", "é", "0", "17", "__proto__", "\\\"", ""];
        const SCALARS: [&str; 12] = [
            "0",
            "-0",
            "7",
            "-1.5e3",
            "1e300",
            "null",
            "true",
            "false",
            "\"\"",
            "\"x\\ny\"",
            "\"ü😀\"",
            "\"\\\\\"",
        ];
        let mut pick = |n: usize| {
            *bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(*bits >> 40).unwrap() % n
        };
        let (kind, n) = (pick(4), pick(5));
        if depth == 0 || kind == 0 {
            return text.push_str(SCALARS[pick(SCALARS.len())]);
        }
        text.push(if kind == 1 { '[' } else { '{' });
        for index in 0..n {
            if index > 0 {
                text.push_str(" ,");
            }
            if kind != 1 {
                // Names differ, as they do in an item.
                let name = NAMES[(index + n) % NAMES.len()];
                text.extend(["\"", name, "\" : "]);
            }
            any_text(bits, depth - 1, text);
        }
        text.push(if kind == 1 { ']' } else { '}' });
    }

    #[test]
    fn any_text_is_as_the_engine_reads_it() {
        let mut bits = 7;
        for _ in 0..200 {
            let mut text = String::new();
            any_text(&mut bits, 5, &mut text);
            let (ours, engine) = both(&text, "");
            assert!(ours.is_some(), "{text}");
            assert_eq!(ours, engine, "{text}");
        }
    }

    #[test]
    fn what_a_script_puts_on_the_prototypes_hears_nothing() {
        let before = "for (const it of [Object.prototype, Array.prototype])
            for (const name of ['a', '0', 'toJSON'])
                Object.defineProperty(it, name, { set(value) {}, get() {} });";
        let (ours, engine) = both(r#"{"a":1,"0":2,"list":[1,2],"toJSON":3}"#, before);
        assert!(ours.is_some());
        assert_eq!(ours, engine);
    }

    #[test]
    fn whatever_is_unusual_is_left_to_the_engine() {
        let deep = "[".repeat(DEPTH_MAX + 1);
        for text in [
            "",
            "{",
            "[",
            "\"",
            "\"\\",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "[1,]",
            "[1 2]",
            "{,}",
            "[,]",
            "tru",
            "1 2",
            "{} x",
            "-",
            "nul",
            r#""\ud800""#,
            r#"{"\u0061":1}"#,
            r#""\x""#,
            "\"a\nb\"",
            &deep,
        ] {
            assert_eq!(both(text, "").0, None, "{text}");
        }
    }
}
