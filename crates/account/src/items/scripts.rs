//! Stored procedures, and writes with triggers.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, ItemBody, Rid, Status};
use partition::scripts::{Operation, Script};
use partition::{ExecutionFailed, Logical, OnDemand, Procedure, Surroundings, TriggeredCall};
use query::PrepareOptions;

use super::query::prepare_options;
use super::udfs::host_of;
use super::{ItemRequest, system_procedures};
use crate::account::Inner;
use crate::catalog::record::Record;
use crate::catalog::scripts::trigger_facts;
use crate::container::Container;
use crate::container_usage;
use crate::error::{Error, Result};
use crate::operation::ResourceKind;
use crate::outcome::{Body, Facts, Failed, Outcome};
use crate::range_map::Range;
use crate::scripts::script_of;

/// A write that names triggers, before its scripts are found.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub(super) operation: Operation,
    pub(super) id: Option<&'a str>,
    pub(super) body: Option<&'a Bytes>,
}

impl ItemRequest<'_> {
    pub(super) async fn execute_procedure(
        &self,
        name: &str,
        arguments: &Bytes,
        wants_log: bool,
    ) -> Result<Outcome, Failed> {
        if name == system_procedures::BULK_INSERT {
            return self.bulk_insert(arguments).await;
        }
        let prepared = self.prepare_procedure(name, arguments, wants_log);
        let (at, procedure, surroundings) = prepared.map_err(|error| self.fail(error))?;
        let range = self.route(&at).map_err(|error| self.fail(error))?;
        self.check_session(range).map_err(|error| self.fail_at(range, error))?;
        let scripts = &self.inner.scripts;
        let turn = scripts.turn(&self.container.record().rid, &at).await;
        let run =
            range.partition.run_procedure(&scripts.runtime, &at, &surroundings, procedure, turn);
        let executed = run.await.map_err(|failed| self.fail_script(range, failed))?;
        let facts = Facts {
            charge: executed.charge,
            script_log: executed.log,
            owner_path: Some(format!("{}/sprocs/{name}", self.container.name_path).into()),
            ..self.facts_of(range.id(), executed.lsn)
        };
        let body = executed.body.map_or(Body::Empty, |body| Body::Resource(body.into()));
        Ok(Outcome { status: Status::OK, body, facts })
    }

    fn prepare_procedure(
        &self,
        procedure: &str,
        arguments: &Bytes,
        wants_log: bool,
    ) -> Result<(Logical, Procedure, Surroundings)> {
        let script = match system_procedures::script(procedure) {
            Some(script) => script,
            None => script_of(&*self.procedure(procedure)?),
        };
        let at = self.logical().map_err(|error| match error {
            Error::KeyRequired => Error::ProcedureKeyRequired,
            other => other,
        })?;
        let text = std::str::from_utf8(arguments).map_err(|_| Error::BodyMalformed)?;
        // Wire: an absent or empty body means no arguments.
        let arguments = (!text.trim().is_empty()).then(|| text.to_owned());
        Ok((at, Procedure { script, arguments, wants_log }, self.surroundings()))
    }

    fn procedure(&self, text: &str) -> Result<Arc<Record>> {
        let tables = self.inner.catalog.tables();
        let number = self.container.record().number;
        let kind = ResourceKind::StoredProcedure;
        let by_rid = || {
            let record = tables.by_rid(&Rid::parse(text)?)?;
            (self.is_by_rid && record.owner == number && record.kind == kind).then_some(record)
        };
        tables.by_name(number, kind, text).or_else(by_rid).cloned().ok_or(Error::NotFound)
    }

    fn surroundings(&self) -> Surroundings {
        let functions: Arc<[Script]> = self.udf_scripts().into();
        let around = Around {
            inner: self.inner.share(),
            container: Arc::clone(&self.container),
            functions: Arc::clone(&functions),
        };
        let alt_link = self.container.name_path.to_string();
        Surroundings { alt_link, functions, on_demand: Arc::new(around) }
    }

    /// A failure of scripts; what they logged is told too.
    fn fail_script(&self, range: &Range, failed: ExecutionFailed) -> Failed {
        let ExecutionFailed { error, log, charge } = failed;
        let mut failed = self.fail_at(range, error);
        failed.facts.charge = charge.max(Charge::ZERO);
        failed.facts.script_log = log;
        failed
    }

    pub(super) fn has_triggers(&self) -> bool {
        !(self.options.pre_triggers.is_empty() && self.options.post_triggers.is_empty())
    }

    /// Carries out a write at `at` with the triggers that the request names.
    pub(super) async fn apply_triggered(
        &self,
        at: &Logical,
        write: Write<'_>,
    ) -> Result<Outcome, Failed> {
        let range = self.route(at).map_err(|error| self.fail(error))?;
        let find = |names: &[String], kind| {
            let found = names.iter().map(|name| self.trigger(name, kind, write.operation));
            found.collect::<Result<Vec<_>>>()
        };
        let pre = find(&self.options.pre_triggers, "Pre").map_err(|error| self.fail(error))?;
        let post = find(&self.options.post_triggers, "Post").map_err(|error| self.fail(error))?;
        let call = TriggeredCall {
            operation: write.operation,
            id: write.id.map(str::to_owned),
            body: write.body.cloned(),
            if_match: self.options.if_match.clone(),
            if_none_match: self.options.if_none_match.clone(),
            indexing: self.options.indexing,
            pre,
            post,
        };
        let scripts = &self.inner.scripts;
        let turn = scripts.turn(&self.container.record().rid, at).await;
        let surroundings = self.surroundings();
        let run =
            range.partition.apply_with_triggers(&scripts.runtime, at, &surroundings, call, turn);
        let triggered = run.await.map_err(|failed| self.fail_script(range, failed))?;
        Ok(self.answer(range, triggered.outcome, triggered.lsn))
    }

    /// Wire: A trigger that does not exist or does not fit the request is a 400.
    fn trigger(&self, name: &str, kind: &'static str, operation: Operation) -> Result<Script> {
        let tables = self.inner.catalog.tables();
        let number = self.container.record().number;
        let record = tables.by_name(number, ResourceKind::Trigger, name);
        let record = record.ok_or_else(|| Error::TriggerMissing { name: name.to_owned() })?;
        let fits = trigger_facts(&record.body)
            .is_some_and(|(own, declared)| own == kind && runs_on(declared, operation));
        let unfit =
            || Error::TriggerUnfit { name: name.to_owned(), kind, operation: operation.name() };
        fits.then(|| script_of(record)).ok_or_else(unfit)
    }

    /// The logical partition of a new item whose triggers may still change it: from the header, else from the body.
    pub(super) fn logical_before_triggers(&self, bytes: &Bytes) -> Result<Logical> {
        if self.key.is_some() {
            return self.logical();
        }
        self.check_key_sent()?;
        self.logical_of_body(&ItemBody::parse(bytes)?)
    }
}

/// What a script that asks gets to know.
#[derive(Debug)]
struct Around {
    inner: Inner,
    container: Arc<Container>,
    functions: Arc<[Script]>,
}

impl OnDemand for Around {
    fn prepare(&self) -> PrepareOptions {
        PrepareOptions {
            udf_host: Some(host_of(&self.functions)),
            ..prepare_options(&self.inner, &self.container).clone()
        }
    }

    fn quota(&self) -> String {
        container_usage::quota(&self.container)
    }

    fn usage(&self) -> String {
        container_usage::usage(&self.inner.catalog.tables(), &self.container)
    }
}

/// Says whether a trigger with this `triggerOperation` runs on the operation.
fn runs_on(declared: &str, operation: Operation) -> bool {
    match declared {
        "All" => true,
        // Wire: `Update` is the old name of a write to an existing item.
        "Update" => matches!(operation, Operation::Replace | Operation::Upsert),
        other => other == operation.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_run_on_what_they_declare() {
        #[rustfmt::skip]
        let table = [
            ("All",     Operation::Delete,  true),
            ("Create",  Operation::Create,  true),
            ("Create",  Operation::Upsert,  false),
            ("Delete",  Operation::Create,  false),
            ("Replace", Operation::Replace, true),
            ("Update",  Operation::Replace, true),
            ("Update",  Operation::Upsert,  true),
            ("Update",  Operation::Create,  false),
            ("Upsert",  Operation::Upsert,  true),
        ];
        for (declared, operation, expected) in table {
            assert_eq!(runs_on(declared, operation), expected, "{declared} {operation:?}");
        }
    }
}
