//! What a script threw, taken out of the engine and put into words.

use model::Status;
use rquickjs::{Array, Ctx, Function, Persistent, Value};

use crate::bridge::Thrown;
use crate::limits::ERROR_TEXT_MAX;
use crate::sandbox::Sandbox;

const OUT_OF_MEMORY: &str =
    "null, which a script throws, or the engine when the memory of a script is used up";

pub(crate) enum Exception {
    Thrown(Persistent<Value<'static>>),
    /// The engine or its binding failed; there is no value.
    Ours(String),
}

impl Exception {
    /// Takes the pending exception. Every failed call must come through here, or the next one sees it.
    pub(crate) fn take(ctx: &Ctx<'_>, error: &rquickjs::Error) -> Exception {
        match error {
            rquickjs::Error::Exception => Exception::Thrown(Persistent::save(ctx, ctx.catch())),
            other => Exception::Ours(other.to_string()),
        }
    }

    /// Describes it, which may run code of the script. The engine gets a little memory for that.
    pub(crate) fn describe(self, sandbox: &Sandbox) -> Thrown {
        let thrown = match self {
            Exception::Thrown(thrown) => thrown,
            Exception::Ours(text) => return plain(text),
        };
        sandbox.make_room();
        sandbox.context().with(|ctx| {
            let thrown = thrown.restore(&ctx);
            // The engine throws this when there is no room for an error that would say so.
            if thrown.as_ref().is_ok_and(Value::is_null) {
                return plain(OUT_OF_MEMORY.to_owned());
            }
            let described = thrown.and_then(|thrown| {
                let describe: Function<'_> = sandbox.api(&ctx, "describe")?;
                describe.call::<_, Array<'_>>((thrown,))
            });
            if let Ok(described) = described {
                return thrown_of(&described);
            }
            ctx.catch();
            plain("an error without description".to_owned())
        })
    }
}

fn plain(text: String) -> Thrown {
    Thrown { status: Status::BAD_REQUEST, text, stack: String::new() }
}

/// Reads `[number, whether the server made it, text, stack]`.
///
/// Wire: an error of the server's own making keeps its status; a number that the script made up is the sub-status of
/// a 400.
pub(crate) fn thrown_of(described: &Array<'_>) -> Thrown {
    let number: f64 = described.get(0).unwrap_or(0.0);
    let is_refusal: bool = described.get(1).unwrap_or(false);
    Thrown {
        status: status_of(number, is_refusal),
        text: shortened(described.get(2).unwrap_or_default()),
        stack: shortened(described.get(3).unwrap_or_default()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be an integer in range"
)]
fn status_of(number: f64, is_refusal: bool) -> Status {
    if number.fract() != 0.0 || !(1.0..=f64::from(u16::MAX)).contains(&number) {
        return Status::BAD_REQUEST;
    }
    let number = number as u16;
    if is_refusal && (400..500).contains(&number) {
        return Status { code: number, sub: 0 };
    }
    Status { code: Status::BAD_REQUEST.code, sub: u32::from(number) }
}

fn shortened(mut text: String) -> String {
    if text.len() > ERROR_TEXT_MAX {
        let end = (0..=ERROR_TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_numbers_become_statuses() {
        #[rustfmt::skip]
        let table = [
            (409.0,         true,  (409, 0)),
            (409.0,         false, (400, 409)),
            (0.0,           false, (400, 0)),
            (-1.0,          true,  (400, 0)),
            (1.5,           false, (400, 0)),
            (200.0,         true,  (400, 200)),
            (500.0,         true,  (400, 500)),
            (f64::NAN,      false, (400, 0)),
            (f64::INFINITY, true,  (400, 0)),
            (65_535.0,      false, (400, 65_535)),
            (65_536.0,      false, (400, 0)),
        ];
        for (number, is_refusal, (code, sub)) in table {
            let status = status_of(number, is_refusal);
            assert_eq!((status.code, status.sub), (code, sub), "{number} {is_refusal}");
        }
    }

    #[test]
    fn long_texts_end_between_characters() {
        let text = shortened("ü".repeat(ERROR_TEXT_MAX));
        assert_eq!(text.len(), ERROR_TEXT_MAX);
        assert!(shortened(format!("a{}", "ü".repeat(ERROR_TEXT_MAX))).len() < ERROR_TEXT_MAX);
    }
}
