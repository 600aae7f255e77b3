//! Rows that are objects, as text: what an object of the members would be written as, if no name comes twice.
//!
//! Hot path: runs for every row of a list of properties.

use model::json::{Raw, RawKind, is_plain_number, parse, tree_bytes_max, write_string};
use model::{JsonError, Object, Value};

use super::rows::is_whole_item;
use super::{Frame, eval};
use crate::bind::tree::Expr;
use crate::context::{LITERAL_BYTES, MEMBER_BYTES, NUMBER_BYTES, Run, estimated_bytes};
use crate::error::{Error, Result};
use crate::functions::written_bytes;
use crate::paging::row::Row;
use crate::value::is_finite;

/// Computes an object as the text of a row.
pub(crate) fn written_object(
    members: &[(String, Expr)],
    frame: &Frame<'_>,
    run: &Run<'_>,
) -> Result<Row> {
    let mut object = Written::new(members);
    for (name, expr) in members {
        run.part()?;
        let Some(datum) = eval(expr, frame, run)? else { continue };
        let value = datum.value().filter(|value| is_finite(value)).ok_or(Error::NotFinite)?;
        run.reserve(written_bytes(value))?;
        let target = object.member(name, estimated_bytes(value), run)?;
        if is_whole_item(expr) {
            value.write_to(target);
        } else {
            value.write_computed_to(target);
        }
    }
    Ok(object.finish())
}

/// Makes the text of an object whose members are properties of an item, as they stand in its text.
///
/// # Errors
/// In the inner result: the text is not JSON.
pub(crate) fn copied_object(
    members: &[(String, Expr)],
    properties: &[Option<Raw<'_>>],
    run: &Run<'_>,
) -> Result<Result<Row, JsonError>> {
    let mut object = Written::new(members);
    for ((name, _), raw) in members.iter().zip(properties) {
        let Some(Raw { text, kind }) = raw else { continue };
        let value_bytes = match kind {
            RawKind::Literal => LITERAL_BYTES,
            RawKind::Number if is_plain_number(text) => NUMBER_BYTES,
            RawKind::PlainString => text.len(),
            RawKind::Number | RawKind::Other => {
                run.scratch(tree_bytes_max(text))?;
                let value = match parse(text) {
                    Ok(value) => value,
                    Err(error) => return Ok(Err(error)),
                };
                run.reserve(written_bytes(&value))?;
                value.write_computed_to(object.member(name, estimated_bytes(&value), run)?);
                continue;
            }
        };
        run.reserve(text.len())?;
        object.member(name, value_bytes, run)?.extend_from_slice(text);
    }
    Ok(Ok(object.finish()))
}

/// An object that is being written.
struct Written {
    text: Vec<u8>,
    /// What [`estimated_bytes`] would say of it.
    n_bytes: usize,
}

impl Written {
    fn new(members: &[(String, Expr)]) -> Written {
        /// About the bytes of a short value, with what is around it.
        const ROOM: usize = 24;
        let room = members.iter().map(|(name, _)| name.len() + ROOM).sum::<usize>();
        let n_bytes = estimated_bytes(&Value::Object(Object::new()));
        Written { text: Vec::with_capacity(room), n_bytes }
    }

    /// Returns where to write the value of the next member, of which the estimated bytes are known.
    fn member(&mut self, name: &str, value_bytes: usize, run: &Run<'_>) -> Result<&mut Vec<u8>> {
        run.reserve(name.len() + MEMBER_BYTES)?;
        self.n_bytes += MEMBER_BYTES + name.len() + value_bytes;
        self.text.push(if self.text.is_empty() { b'{' } else { b',' });
        write_string(name, &mut self.text);
        self.text.push(b':');
        Ok(&mut self.text)
    }

    fn finish(mut self) -> Row {
        self.text.extend_from_slice(if self.text.is_empty() { b"{}" } else { b"}" });
        Row::Written(self.text, self.n_bytes)
    }
}
