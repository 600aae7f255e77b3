//! The doors for scripts: run a procedure, carry out a write with its triggers.

use std::sync::Arc;

use bytes::Bytes;
use model::{Charge, ItemBody, Lsn};
use parking_lot::Mutex;
use query::PrepareOptions;
use script::{Answer, InlineOutcome, Invocation, Operation, Role, Runtime, Script};

use super::host::TransactionHost;
use super::transaction::{Submitted, Transaction, with_final_stamp};
use crate::partition::Partition;
use crate::{Error, IndexingDirective, ItemCall, ItemOp, ItemOutcome, Logical, Result};

/// What a script may know of its container and a partition does not.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Wire: `dbs/<name>/colls/<name>`.
    pub alt_link: String,
    /// What queries of the script may call as `udf.…`.
    pub functions: Arc<[Script]>,
    pub on_demand: Arc<dyn OnDemand>,
}

/// What few scripts ask for, and takes time to find out.
pub trait OnDemand: std::fmt::Debug + Send + Sync {
    /// How queries of the script are prepared; it knows the functions by name.
    fn prepare(&self) -> PrepareOptions;
    /// Wire: `x-ms-resource-quota`.
    fn quota(&self) -> String;
    /// Wire: `x-ms-resource-usage`.
    fn usage(&self) -> String;
}

/// A stored procedure to run.
#[derive(Debug, Clone)]
pub struct Procedure {
    pub script: Script,
    /// A JSON array.
    pub arguments: Option<String>,
    pub wants_log: bool,
}

/// A procedure that ran and whose effects, if any, are durable.
#[derive(Debug)]
pub struct Executed {
    /// JSON text; `None` when it set none.
    pub body: Option<String>,
    pub log: Option<String>,
    pub charge: Charge,
    pub lsn: Lsn,
}

/// Scripts that failed; nothing of their work remains but the price.
#[derive(Debug)]
pub struct ExecutionFailed {
    pub error: Error,
    pub log: Option<String>,
    pub charge: Charge,
}

/// A write that triggers surround.
#[derive(Debug, Clone)]
pub struct TriggeredCall {
    pub operation: Operation,
    /// The item to replace or delete.
    pub id: Option<String>,
    /// The item as the client sent it; none for a delete.
    pub body: Option<Bytes>,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
    pub indexing: IndexingDirective,
    pub pre: Vec<Script>,
    pub post: Vec<Script>,
}

/// A triggered write that took effect.
#[derive(Debug)]
pub struct Triggered {
    pub outcome: ItemOutcome,
    pub lsn: Lsn,
}

impl Partition {
    /// Runs a stored procedure as one transaction on one logical partition.
    ///
    /// `turn` is dropped when the commit is on its way: whoever waits for it sees the effects, or fails with them.
    pub async fn run_procedure(
        &self,
        runtime: &Runtime,
        at: &Logical,
        surroundings: &Surroundings,
        procedure: Procedure,
        turn: impl Send + 'static,
    ) -> Result<Executed, ExecutionFailed> {
        let mut run = ScriptRun::begin(self, runtime, at, surroundings).await?;
        // Shared: a run that is given up must not keep the turn.
        let turn = Arc::new(Mutex::new(Some(turn)));
        let Procedure { script, arguments, wants_log } = procedure;
        let functions = Arc::clone(&run.functions);
        let role = Role::Procedure { arguments };
        let invocation = Invocation { script, role, functions, wants_log };
        match runtime.invoke_inline(Arc::clone(&run.host) as _, &invocation) {
            InlineOutcome::Ended(answer) => {
                let submitted = submit(&run.host);
                turn.lock().take();
                return settle_procedure(answer, submitted).await;
            }
            InlineOutcome::Failed => {
                run = ScriptRun::begin(self, runtime, at, surroundings).await?;
            }
            InlineOutcome::NotBegun => {}
        }
        let (host, its_turn) = (Arc::clone(&run.host), Arc::clone(&turn));
        // The commit begins on the thread of the script, so that the task here is woken only when it is durable.
        let then = move |answer: Answer| {
            let submitted = submit(&host);
            its_turn.lock().take();
            settle_procedure(answer, submitted)
        };
        match runtime.invoke_then(Arc::clone(&run.host) as _, invocation, then).await {
            Ok(executed) => executed,
            Err(failed) => {
                turn.lock().take();
                run.log = failed.log;
                Err(run.fail(Error::Script(failed.error)).await)
            }
        }
    }

    /// Carries out a write, its pre-triggers before and its post-triggers behind it, as one transaction.
    pub async fn apply_with_triggers(
        &self,
        runtime: &Runtime,
        at: &Logical,
        surroundings: &Surroundings,
        call: TriggeredCall,
        turn: impl Send,
    ) -> Result<Triggered, ExecutionFailed> {
        let mut run = ScriptRun::begin(self, runtime, at, surroundings).await?;
        let changed = match run.play_triggers(call).await {
            Ok(changed) => changed,
            Err(error) => return Err(run.fail(error).await),
        };
        let submitted = submit(&run.host);
        drop(turn);
        let submitted =
            submitted.map_err(|(error, charge)| ExecutionFailed { error, log: None, charge })?;
        let charge = submitted.charge;
        let fail = |error| ExecutionFailed { error, log: None, charge };
        let settled = submitted.settle().await.map_err(fail)?;
        let missing = Error::Corrupt("a triggered write answered nothing");
        let mut outcome = settled.main.ok_or(missing).map_err(fail)?;
        outcome.charge = charge;
        if let (Some(body), Some(stamp)) = (changed, &settled.stamp) {
            outcome.body = Some(with_final_stamp(&body, stamp).into());
        }
        Ok(Triggered { outcome, lsn: settled.lsn })
    }
}

/// Ends a script's hold on its transaction and puts the commit on the way; on failure with what the work cost.
fn submit(host: &Mutex<TransactionHost>) -> Result<Submitted, (Error, Charge)> {
    let transaction = host.lock().take().map_err(|error| (error, Charge::ZERO))?;
    let charge = transaction.charge;
    transaction.submit().map_err(|error| (error, charge))
}

/// Waits until what a procedure did is durable.
async fn settle_procedure(
    answer: Answer,
    submitted: Result<Submitted, (Error, Charge)>,
) -> Result<Executed, ExecutionFailed> {
    let Answer { body, log } = answer;
    let (settled, charge) = match submitted {
        Ok(submitted) => {
            let charge = submitted.charge;
            (submitted.settle().await, charge)
        }
        Err((error, charge)) => (Err(error), charge),
    };
    match settled {
        Ok(settled) => {
            let body = match (body, &settled.stamp) {
                (Some(body), Some(stamp)) => Some(with_final_stamp(&body, stamp)),
                (body, _) => body,
            };
            Ok(Executed { body, log, charge, lsn: settled.lsn })
        }
        Err(error) => Err(ExecutionFailed { error, log, charge }),
    }
}

/// Scripts at work on one transaction.
struct ScriptRun<'a> {
    partition: &'a Partition,
    runtime: &'a Runtime,
    host: Arc<Mutex<TransactionHost>>,
    functions: Arc<[Script]>,
    log: Option<String>,
    relies_on: Lsn,
}

impl<'a> ScriptRun<'a> {
    async fn begin(
        partition: &'a Partition,
        runtime: &'a Runtime,
        at: &Logical,
        surroundings: &Surroundings,
    ) -> Result<ScriptRun<'a>, ExecutionFailed> {
        partition.mend().await?;
        let transaction = Transaction::begin(partition, at)?;
        let relies_on = transaction.relies_on;
        let host = Arc::new(Mutex::new(TransactionHost::new(transaction, surroundings)));
        let functions = Arc::clone(&surroundings.functions);
        Ok(ScriptRun { partition, runtime, host, functions, log: None, relies_on })
    }

    async fn invoke(&mut self, script: Script, role: Role, wants_log: bool) -> Result<Answer> {
        let functions = Arc::clone(&self.functions);
        let invocation = Invocation { script, role, functions, wants_log };
        let host = Arc::clone(&self.host);
        self.runtime.invoke(host, invocation).await.map_err(|failed| {
            self.log = failed.log;
            Error::Script(failed.error)
        })
    }

    /// The text of an item as it is before the write.
    fn read(&self, id: String) -> Result<String> {
        let mut host = self.host.lock();
        let outcome = host.transaction()?.apply(ItemCall::new(ItemOp::Read { id }))?;
        to_text(&outcome.body.ok_or(Error::missing())?)
    }

    /// Returns the answer that a post-trigger set, if one did.
    async fn play_triggers(&mut self, call: TriggeredCall) -> Result<Option<String>> {
        let TriggeredCall { operation, id, body, if_match, if_none_match, indexing, pre, post } =
            call;
        let mut request = match (operation, &id) {
            // Wire: pre-triggers see what is deleted.
            (Operation::Delete, Some(id)) if !pre.is_empty() => Some(self.read(id.clone())?),
            _ => body.map(|body| to_text(&body)).transpose()?,
        };
        for script in pre {
            let role = Role::PreTrigger { operation, request };
            request = self.invoke(script, role, false).await?.body;
        }
        if operation == Operation::Delete {
            request = None;
        }
        let op = item_op(operation, id, request.as_deref())?;
        let minimal = false;
        let call = ItemCall { op, if_match, if_none_match, minimal, indexing, is_bare: false };
        let outcome = self.host.lock().transaction()?.apply_main(call)?;
        let shown = outcome.body.as_deref().map(to_text).transpose()?;
        let mut response = shown.clone();
        for script in post {
            let role = Role::PostTrigger { operation, request: request.clone(), response };
            response = self.invoke(script, role, false).await?.body;
        }
        Ok(response.filter(|response| Some(response) != shown.as_ref()))
    }

    /// Ends the transaction without effect. Like every failure, it is told when what it relies on is durable.
    async fn fail(self, error: Error) -> ExecutionFailed {
        // A run that was given up may still hold the host; then its transaction ends with it.
        let taken = self.host.try_lock().and_then(|mut host| host.take().ok());
        let charge = taken.map_or(Charge::ZERO, |transaction| transaction.charge);
        let charge = crate::charge::script(charge);
        let error = self.partition.settle_read(self.relies_on).await.err().unwrap_or(error);
        ExecutionFailed { error, log: self.log, charge }
    }
}

impl From<Error> for ExecutionFailed {
    fn from(error: Error) -> ExecutionFailed {
        ExecutionFailed { charge: error.charge(), error, log: None }
    }
}

fn to_text(bytes: &[u8]) -> Result<String> {
    // What is no text is no item either; its own check says so in the client's words.
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(ItemBody::parse(bytes)
            .err()
            .map_or(Error::Corrupt("a stored item is not text"), Error::Item)),
    }
}

fn item_op(operation: Operation, id: Option<String>, body: Option<&str>) -> Result<ItemOp> {
    let parsed = || ItemBody::parse(body.unwrap_or_default().as_bytes());
    let id = id.unwrap_or_default();
    Ok(match operation {
        Operation::Create => ItemOp::Create(parsed()?),
        Operation::Upsert => ItemOp::Upsert(parsed()?),
        Operation::Replace => ItemOp::Replace { id, body: parsed()? },
        Operation::Delete => ItemOp::Delete { id },
    })
}
