//! The JSON text of an item, made of plain data. The engine's own `JSON.stringify` takes three times as long, which was
//! a tenth of the run of a short procedure.

use std::io::Write as _;

use model::json::{Outline, write_string};
use rquickjs::atom::PredefinedAtom;
use rquickjs::{Atom, Coerced, FromJs as _, Object, Result, String as JsString, Type, Value};

use crate::host::NewItem;
use crate::property_names::{Named, Names};

// Limit: how deep it looks. A value that contains itself is deeper than any.
const DEPTH_MAX: usize = 64;
// Limit: bytes of text. No item is longer, and a value that contains itself twice would be without end.
const BYTES_MAX: usize = 4 << 20;

/// Room for the text of most items.
const TEXT_BYTES: usize = 2 << 10;

/// Writes what `JSON.stringify` would, but for system properties, which the host drops. `None` for whatever is not plain
/// data, below the limits: it is for the engine to write, or to refuse.
///
/// `base` is the prototype of plain objects. A getter runs, and runs again if the engine is asked afterwards.
pub(crate) fn text_of<'js>(
    item: &Object<'js>,
    base: &Object<'js>,
    names: &Names,
) -> Result<Option<NewItem>> {
    let text = Vec::with_capacity(TEXT_BYTES);
    let mut writer = Writer { base, names, text, outline: Outline::new() };
    let kind = writer.object(item, 0)?;
    Ok((kind == Kind::Written).then(|| NewItem::written(writer.text, writer.outline)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Written,
    /// Not there, as far as JSON is concerned.
    Absent,
    Unusual,
}

struct Writer<'a, 'js> {
    base: &'a Object<'js>,
    names: &'a Names,
    text: Vec<u8>,
    outline: Outline,
}

impl<'js> Writer<'_, 'js> {
    fn value(&mut self, value: Value<'js>, depth: usize) -> Result<Kind> {
        match value.type_of() {
            Type::Null => self.text.extend_from_slice(b"null"),
            Type::Bool if value.as_bool() == Some(true) => self.text.extend_from_slice(b"true"),
            Type::Bool => self.text.extend_from_slice(b"false"),
            Type::Int | Type::Float => self.number(&value)?,
            Type::String => {
                if !self.string(value) {
                    return Ok(Kind::Unusual);
                }
            }
            Type::Undefined | Type::Symbol => return Ok(Kind::Absent),
            Type::Array => return self.array(&value, depth + 1),
            Type::Object => match value.as_object() {
                Some(object) => return self.object(object, depth + 1),
                None => return Ok(Kind::Unusual),
            },
            _ => return Ok(Kind::Unusual),
        }
        self.outline.scalar();
        Ok(Kind::Written)
    }

    fn object(&mut self, object: &Object<'js>, depth: usize) -> Result<Kind> {
        let is_plain = !object.is_proxy()
            && !object.is_array()
            && match object.get_prototype() {
                Some(prototype) => prototype == *self.base,
                // What `JSON.rawJSON` makes: a text that stands for itself.
                None => !object.contains_key("rawJSON")?,
            }
            && !has_own_way(object)?;
        if !is_plain || depth > DEPTH_MAX {
            return Ok(Kind::Unusual);
        }
        self.text.push(b'{');
        let start = self.text.len();
        for name in object.keys::<Atom<'js>>() {
            let name = name?;
            let before = self.text.len();
            if before > start {
                self.text.push(b',');
            }
            let name_start = self.text.len() + 1;
            let named = self.names.write(object.ctx(), &name, &mut self.text)?;
            let value_start = self.text.len();
            let value: Value<'js> = object.get(name)?;
            let written = match named {
                Named::Plainly => self.value(value, depth)?,
                Named::System if depth > 0 => self.value(value, depth)?,
                Named::System if is_scalar(&value) => Kind::Absent,
                Named::System | Named::Not => Kind::Unusual,
            };
            match written {
                Kind::Written if depth == 0 => {
                    let name = name_start..value_start - "\":".len();
                    self.outline.member(name, value_start..self.text.len());
                }
                Kind::Written => {}
                Kind::Absent => self.text.truncate(before),
                Kind::Unusual => return Ok(Kind::Unusual),
            }
            // A long string takes the engine's memory once, however many properties have it.
            if self.text.len() > BYTES_MAX {
                return Ok(Kind::Unusual);
            }
        }
        self.text.push(b'}');
        // Nothing to see, as on a boxed number whose prototype was changed.
        let is_empty = self.text.len() == start + 1;
        Ok(if is_empty { Kind::Unusual } else { Kind::Written })
    }

    fn array(&mut self, value: &Value<'js>, depth: usize) -> Result<Kind> {
        let Some(array) = value.as_array() else { return Ok(Kind::Unusual) };
        let is_plain = !value.is_proxy() && !has_own_way(array.as_object())?;
        if !is_plain || depth > DEPTH_MAX {
            return Ok(Kind::Unusual);
        }
        self.text.push(b'[');
        for index in 0..array.len() {
            if index > 0 {
                self.text.push(b',');
            }
            match self.value(array.get(index)?, depth)? {
                Kind::Written => {}
                Kind::Absent => {
                    self.text.extend_from_slice(b"null");
                    self.outline.scalar();
                }
                Kind::Unusual => return Ok(Kind::Unusual),
            }
            if self.text.len() > BYTES_MAX {
                return Ok(Kind::Unusual);
            }
        }
        self.text.push(b']');
        Ok(Kind::Written)
    }

    /// False for half a character: it has an escape that only the engine knows to write.
    fn string(&mut self, value: Value<'js>) -> bool {
        let Some(Ok(text)) = value.into_string().map(JsString::to_cstring) else { return false };
        let text = std::str::from_utf8(text.as_ref());
        text.is_ok_and(|text| {
            write_string(text, &mut self.text);
            true
        })
    }

    fn number(&mut self, value: &Value<'js>) -> Result<()> {
        if let Some(int) = value.as_int() {
            // Writing to memory does not fail.
            let _ = write!(self.text, "{int}");
            return Ok(());
        }
        let Some(float) = value.as_float().filter(|float| float.is_finite()) else {
            self.text.extend_from_slice(b"null");
            return Ok(());
        };
        // Both write the fewest digits. Up to fifteen there is one way to do so, and these need no exponent.
        if (1e-6..1e15).contains(&float.abs()) {
            let start = self.text.len();
            let _ = write!(self.text, "{float}");
            if self.text.len() - start <= 15 {
                return Ok(());
            }
            self.text.truncate(start);
        }
        let Coerced(text) = Coerced::<String>::from_js(value.ctx(), value.clone())?;
        self.text.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

fn is_scalar(value: &Value<'_>) -> bool {
    value.is_number() || value.is_string()
}

/// Says whether a value is to be asked what JSON should say of it.
fn has_own_way(object: &Object<'_>) -> Result<bool> {
    Ok(!object.get::<_, Value<'_>>(PredefinedAtom::ToJSON)?.is_undefined())
}

#[cfg(test)]
mod tests {
    use model::ItemBody;
    use rquickjs::{Context, Runtime};

    use super::*;

    /// The text made here and the engine's, of the value of an expression.
    fn both(source: &str) -> (Option<String>, Option<String>) {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let base: Object<'_> = ctx.eval("Object.prototype").unwrap();
            let item: Object<'_> = ctx.eval(format!("({source})")).unwrap();
            let names = Names::default();
            let ours = text_of(&item, &base, &names).unwrap();
            let text = ctx.json_stringify(item).ok().flatten();
            let ours = ours.map(|item| {
                let text = String::from_utf8(item.text().to_vec()).unwrap();
                let read = ItemBody::parse(text.as_bytes());
                assert_eq!(format!("{:?}", item.into_body()), format!("{read:?}"), "{text}");
                text
            });
            (ours, text.and_then(|text| text.to_string().ok()))
        })
    }

    #[test]
    fn plain_data_reads_as_the_engine_writes_it() {
        for source in [
            r#"{"id":"a","n":1,"list":[1,"two",null,true,false,{"x":[]}],"o":{"p":{"q":-7}}}"#,
            r"{a:0.1, b:-0, c:1e21, d:1e-7, e:123456789012345680000, f:NaN, g:Infinity, h:2**53, i:1/3}",
            r"{a:undefined, b:function(){}.x, c:Symbol(), d:[undefined, Symbol()], e:1}",
            r"{a:undefined, b:1}",
            r#"{"b":1, "2":2, "1":3, "a":4, [Symbol()]:5}"#,
            r#"{"zero\u0000in":1, "":2, "é😀\u2028":3}"#,
            r#"{"quo\"te\\":"\u0000\u0001\b\t\n\f\r\u001f\u007f\u2028 é 😀 \"\\ /"}"#,
            r"Object.assign(Object.create(null), {a:[[], [[1]]]})",
            r"{get a() { return [1]; }}",
            r"Object.defineProperty({b:1}, 'a', {value:1, enumerable:false})",
            r#"JSON.parse('{"__proto__":1,"toString":2}')"#,
            r"{a:[1,,3]}",
        ] {
            let (ours, engine) = both(source);
            assert!(ours.is_some(), "{source}");
            assert_eq!(ours, engine, "{source}");
        }
    }

    #[test]
    fn system_properties_of_the_item_itself_are_left_out() {
        let item = r#"{_rid:"r", id:"a", _ts:1, o:{_ts:2}, _self:"s", _etag:"\"e\"", _lsn:3, _attachments:"x"}"#;
        assert_eq!(both(item).0.as_deref(), Some(r#"{"id":"a","o":{"_ts":2}}"#));
        assert_eq!(both("{id:1, _ts:{a:1}}").0, None);
        assert_eq!(both("{_ts:1}").0, None);
    }

    #[test]
    fn whatever_is_not_plain_is_left_to_the_engine() {
        for source in [
            r"{a:new Date(0)}",
            r"{a:{toJSON() { return 1; }}}",
            r"{a:Object.assign([1], {toJSON() { return 1; }})}",
            r"{a:new Number(1)}",
            r"{a:JSON.rawJSON('12345678901234567890')}",
            r"{a:Object.setPrototypeOf(new Number(1), Object.prototype)}",
            r"{a:new Proxy({}, {})}",
            r"{a:new Proxy([], {})}",
            r"{a:new Map()}",
            r"{a:new Uint8Array(2)}",
            r"{a:10n}",
            r"{a() {}}",
            r#"{a:"\ud800"}"#,
            r#"{"\ud800":1}"#,
            r"{a:Object.create({b:1})}",
            r"(() => { const o = {}; o.o = o; return o; })()",
            r"(() => { const o = {}; o.a = o; o.b = [o, o]; return o; })()",
            r"(() => { let o = {}; for (let i = 0; i < 100; i++) o = {o}; return o; })()",
            r#"{a:"x".repeat(5 << 20)}"#,
            r"[1]",
            r"{}",
        ] {
            assert_eq!(both(source).0, None, "{source}");
        }
    }

    #[test]
    fn one_long_string_under_many_names_does_not_fill_the_memory() {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let base: Object<'_> = ctx.eval("Object.prototype").unwrap();
            for source in [
                "Object.fromEntries(Array.from({length: 40}, (_, i) => ['p' + i, text]))",
                "({list: Array(40).fill(text)})",
                "({list: Array(40).fill({text})})",
            ] {
                let source =
                    format!("(() => {{ const text = 'x'.repeat(1 << 20); return {source}; }})()");
                let item: Object<'_> = ctx.eval(&*source).unwrap();
                let names = Names::default();
                let outline = Outline::new();
                let mut writer = Writer { base: &base, names: &names, text: Vec::new(), outline };
                assert_eq!(writer.object(&item, 0).unwrap(), Kind::Unusual, "{source}");
                assert!(writer.text.len() <= BYTES_MAX + (2 << 20), "{source}");
            }
        });
    }

    #[test]
    fn numbers_read_as_the_engine_writes_them() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        let mut numbers: Vec<String> =
            ["1e21", "1e-6", "1e-7", "1e15", "1e14", "-786691734752177.25", "-123456789.125"]
                .map(String::from)
                .into();
        for exponent in -30..30 {
            for _ in 0..10 {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let whole = bits >> 11;
                numbers.push(format!("{whole}e{}", exponent - 16));
                numbers.push(format!("-{}e{exponent}", whole % 1000));
            }
        }
        let list = format!("{{list:[{}]}}", numbers.join(","));
        let (ours, engine) = both(&list);
        for (ours, engine) in ours.unwrap().split(',').zip(engine.unwrap().split(',')) {
            assert_eq!(ours, engine);
        }
    }

    #[test]
    fn what_a_getter_throws_is_thrown() {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        context.with(|ctx| {
            let base: Object<'_> = ctx.eval("Object.prototype").unwrap();
            let item: Object<'_> = ctx.eval("({get a() { throw 1; }})").unwrap();
            let names = Names::default();
            assert!(text_of(&item, &base, &names).is_err());
        });
    }
}
