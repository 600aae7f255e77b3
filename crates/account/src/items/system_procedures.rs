//! Procedures that every container has: `__.sys.echo` and `__.sys.commonBulkInsert`.

use bytes::Bytes;
use model::{Charge, Failure as _, Object, Status, Value};
use partition::scripts::Script;

use super::ItemRequest;
use crate::body;
use crate::error::{Error, Result};
use crate::operation::{BatchAction, BatchCall, IndexingDirective};
use crate::outcome::{Body, Facts, Failed, Outcome};

const ECHO: &str = "__.sys.echo";
const ECHO_BODY: &str = "function (value) { getContext().getResponse().setBody(value); }";
pub(super) const BULK_INSERT: &str = "__.sys.commonBulkInsert";

/// A procedure of the server's own that is a script like any other.
pub(super) fn script(name: &str) -> Option<Script> {
    (name == ECHO).then(|| Script { id: ECHO.into(), version: ECHO.into(), body: ECHO_BODY.into() })
}

impl ItemRequest<'_> {
    /// Writes items of one range one after the other until one fails, and says how many it wrote. It is no script: the
    /// items may have different keys, and a transaction never leaves one.
    pub(super) async fn bulk_insert(&self, arguments: &Bytes) -> Result<Outcome, Failed> {
        let prepared = self.prepare_insert(arguments).map_err(|error| self.fail(error))?;
        let (mut n_written, mut charge, mut stopped) = (0_u64, Charge::ZERO, None);
        for call in prepared {
            let placed = self.place_call(call);
            let written = match placed {
                Ok(placed) => self.apply_placed(placed).await,
                Err(error) => Err(error),
            };
            match written {
                Ok(outcome) => charge += outcome.charge,
                Err(error) => {
                    charge += super::facts::charge_of(&error);
                    stopped = Some(error);
                    break;
                }
            }
            n_written += 1;
        }
        let is_soft = |error: &Error| n_written > 0 || error.status().code == Status::CONFLICT.code;
        let code = match stopped {
            Some(error) if !is_soft(&error) => return Err(self.fail(error)),
            Some(error) => error.status().code,
            None => 0,
        };
        let body =
            body::object([("count", n_written.into()), ("errorCode", u64::from(code).into())]);
        let body = Body::Resource(Value::from(body).to_text().into());
        let range = self.range_of_insert().map_err(|error| self.fail(error))?;
        let facts = Facts { charge, ..self.facts_of(range.id(), range.partition.lsn()) };
        Ok(Outcome { status: Status::OK, body, facts })
    }

    /// The range that a key or the range header names.
    fn range_of_insert(&self) -> Result<&crate::range_map::Range> {
        match self.range {
            Some(id) => self.named_range(id),
            None => self.route(&self.logical()?),
        }
    }

    fn prepare_insert(&self, arguments: &Bytes) -> Result<Vec<BatchCall>> {
        self.range_of_insert()?;
        let arguments = model::json::parse_mended(arguments).map_err(|_| Error::BodyMalformed)?;
        let Value::Array(arguments) = arguments else { return Err(Error::BodyMalformed) };
        let mut arguments = arguments.into_iter();
        let Some(Value::Array(items)) = arguments.next() else { return Err(Error::BodyMalformed) };
        let options = arguments.next().unwrap_or_default();
        let is_on = |name: &str| options.get(name).and_then(Value::as_bool) == Some(true);
        if !is_on("softStopOnConflict") {
            return Err(Error::NotSupported("a bulk insert without softStopOnConflict"));
        }
        let (is_upsert, makes_ids) =
            (is_on("enableUpsert"), !is_on("disableAutomaticIdGeneration"));
        let calls = items.into_iter().map(|item| {
            let body = Bytes::from(self.text_of_insert(item, makes_ids));
            let action =
                if is_upsert { BatchAction::Upsert { body } } else { BatchAction::Create { body } };
            let indexing = IndexingDirective::Default;
            let (if_match, if_none_match) = (None, None);
            BatchCall { action, key: None, if_match, if_none_match, minimal: true, indexing }
        });
        Ok(calls.collect())
    }

    /// The text of an item that was given as an object or as text.
    fn text_of_insert(&self, item: Value, makes_id: bool) -> String {
        let has_id = |object: &Object| object.get("id").is_some_and(|id| !id.is_null());
        match item {
            Value::Object(mut object) if makes_id && !has_id(&object) => {
                object.insert("id", self.inner.env().uuid());
                Value::Object(object).to_text()
            }
            other => other.as_str().map_or_else(|| other.to_text(), str::to_owned),
        }
    }
}
