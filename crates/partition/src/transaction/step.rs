//! Steps: calls after everything that can be checked and computed without the store.

use std::sync::Arc;

use bytes::Bytes;
use model::{Component, Env, ItemBody, PartitionKey};
use query::Statement;

use super::unique;
use crate::attachments::{AttachmentCall, AttachmentOp};
use crate::keys::{Keys, LogicalPrefix};
use crate::record::Fresh;
use crate::{Error, ItemCall, ItemOp, Logical, Patch, Result, Settings};

/// The logical partition that a transaction works in.
#[derive(Debug)]
pub(crate) struct TransactionContext {
    pub(crate) settings: Arc<Settings>,
    pub(crate) keys: Keys,
    pub(crate) place: LogicalPrefix,
    pub(crate) key: PartitionKey,
}

/// A version of an item that is to be written.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) id: String,
    pub(crate) record: Fresh,
    pub(crate) ttl: i32,
    /// Store keys of the unique keys it claims.
    pub(crate) uniques: Vec<Bytes>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    /// The answer has no use for the written item.
    pub(crate) minimal: bool,
    /// What is written is kept from queries.
    pub(crate) hides: bool,
    /// What is written can be read without its links.
    pub(crate) is_bare: bool,
}

#[derive(Debug)]
pub(crate) enum Action {
    Create(Arc<New>),
    Upsert(Arc<New>),
    Replace {
        id: String,
        new: Arc<New>,
    },
    Patch {
        id: String,
        patch: Patch,
        condition: Option<Box<Statement>>,
    },
    Delete {
        id: String,
    },
    Read {
        id: String,
    },
    /// Does something with an attachment of the item.
    Attachment {
        item: String,
        op: AttachmentOp,
    },
    /// Removes the item if it is still this one and still dead; otherwise does nothing.
    Reap {
        id: String,
        number: u64,
    },
}

impl New {
    /// Remembers how many bytes of its text were added.
    pub(crate) fn with_added(mut self, n_added: usize) -> New {
        if n_added > 0 {
            self.record.set_added(n_added);
        }
        self
    }

    pub(crate) fn hidden_if(mut self, hides: bool) -> New {
        if hides {
            self.record.hide();
        }
        self
    }

    pub(crate) fn bare_if(mut self, is_bare: bool) -> New {
        if is_bare {
            self.record.bare();
        }
        self
    }
}

impl TransactionContext {
    pub(crate) fn new(settings: Arc<Settings>, keys: Keys, at: &Logical) -> TransactionContext {
        let place = LogicalPrefix::new(at, &settings.definition);
        TransactionContext { place, key: at.key.clone(), settings, keys }
    }

    /// Makes the new version that `body` asks for.
    ///
    /// Fails with `PartitionKeyMismatch` when the body belongs to another logical partition.
    pub(crate) fn new_version(&self, body: &ItemBody) -> Result<New> {
        let key = body.partition_key(&self.settings.definition);
        if key != self.key && !is_none_key(&self.key, &key) {
            return Err(Error::PartitionKeyMismatch);
        }
        let text = body.text();
        let new = New {
            id: body.id().to_owned(),
            record: Fresh::new(&self.place, body.ttl(), body.n_terms(), text)?,
            ttl: body.ttl().unwrap_or(0),
            uniques: unique::claims(self, body),
        };
        Ok(new.with_added(body.n_added()))
    }

    pub(crate) fn step(&self, call: ItemCall, env: &Env) -> Result<Step> {
        let hides = self.settings.hides(call.indexing);
        let is_bare = call.is_bare;
        let new = |body: &ItemBody| {
            let new = self.new_version(body)?.hidden_if(hides).bare_if(is_bare);
            Ok::<_, Error>(new.into())
        };
        let action = match call.op {
            ItemOp::Create(body) => Action::Create(new(&body)?),
            ItemOp::Upsert(body) => Action::Upsert(new(&body)?),
            ItemOp::Replace { id, body } => Action::Replace { id, new: new(&body)? },
            ItemOp::Patch { id, patch } => {
                patch.check_paths(&self.settings.definition)?;
                let condition = patch.condition().map(|condition| condition.prepare(env));
                Action::Patch { id, condition: condition.transpose()?.map(Box::new), patch }
            }
            ItemOp::Delete { id } => Action::Delete { id },
            ItemOp::Read { id } => Action::Read { id },
        };
        let ItemCall { if_match, if_none_match, minimal, .. } = call;
        Ok(Step { action, if_match, if_none_match, minimal, hides, is_bare })
    }
}

impl Step {
    pub(crate) fn reap(id: String, number: u64) -> Step {
        Step {
            action: Action::Reap { id, number },
            if_match: None,
            if_none_match: None,
            minimal: true,
            hides: false,
            is_bare: false,
        }
    }

    pub(crate) fn attachment(call: AttachmentCall) -> Step {
        let AttachmentCall { item, op, if_match, if_none_match } = call;
        let action = Action::Attachment { item, op };
        Step { action, if_match, if_none_match, minimal: false, hides: false, is_bare: false }
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(self.action, Action::Read { .. })
    }
}

/// Containers from before partition keys: the header says `[]` and the item has no key.
fn is_none_key(asked: &PartitionKey, found: &PartitionKey) -> bool {
    let is_undefined = |key: &PartitionKey| {
        key.components().iter().all(|component| matches!(component, Component::Undefined))
    };
    asked.components().is_empty() && is_undefined(found)
}
