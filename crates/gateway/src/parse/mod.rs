//! From a request to a [`Call`]: what is asked, without any rule about data.
//!
//! Invariant: every combination of resource, method and known option becomes an operation or an
//! error; nothing is dropped silently.

mod attachments;
mod batch;
mod items;
mod options;
mod query;
mod resources;

use account::{Operation, Options, ResourceKind};
use bytes::Bytes;
use http::Method;
use model::json::binary;

pub(crate) use self::attachments::brings_media;
pub(crate) use self::batch::{BATCH_CALLS_MAX, fuzz_hybrid_row};
pub(crate) use self::query::text_and_parameters;
use crate::{
    answers::{self, Answer, Groups},
    error::Error,
    headers::RequestHeaders,
    paths::Target,
};

/// A request whose principal is known and whose body has arrived.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a RequestHeaders<'a>,
    pub(crate) body: Bytes,
    /// It came in a frame of direct mode, which knows HEAD.
    pub(crate) is_direct: bool,
}

/// What to ask the account, and how to answer the client.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) operation: Operation,
    pub(crate) options: Options,
    pub(crate) reply: Reply,
}

/// What the answer needs to know about the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply {
    pub(crate) action: Action,
    pub(crate) answer: Answer,
    /// The written item is left out.
    pub(crate) minimal: bool,
    pub(crate) batch_form: BatchForm,
    /// The client asked for binary JSON.
    pub(crate) is_binary: bool,
    /// It came in a frame of direct mode.
    pub(crate) is_direct: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchForm {
    Json,
    /// Without sub-statuses, which clients of 2018 are not told.
    JsonOf2018,
    HybridRow,
}

macro_rules! actions {
    ($($name:ident = $text:literal / $access:ident;)*) => {
        /// What kind of work a request is, for metrics and for how it is run.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Action {
            $($name,)*
        }

        impl Action {
            pub(crate) const ALL: &[Action] = &[$(Action::$name,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Action::$name => $text,)*
                }
            }

            /// Says whether the request may change something.
            pub(crate) fn is_write(self) -> bool {
                match self {
                    $(Action::$name => actions!(@$access),)*
                }
            }
        }
    };
    (@read) => { false };
    (@write) => { true };
}

actions! {
    AccountRead = "account_read" / read;
    Addresses = "addresses" / read;
    Barrier = "barrier" / read;
    ItemCreate = "item_create" / write;
    ItemUpsert = "item_upsert" / write;
    ItemRead = "item_read" / read;
    ItemReplace = "item_replace" / write;
    ItemPatch = "item_patch" / write;
    ItemDelete = "item_delete" / write;
    Batch = "batch" / write;
    Bulk = "bulk" / write;
    ReadFeed = "read_feed" / read;
    ChangeFeed = "change_feed" / read;
    Query = "query" / read;
    QueryPlan = "query_plan" / read;
    DeleteLogicalPartition = "delete_logical_partition" / write;
    Execute = "execute" / write;
    AttachmentRead = "attachment_read" / read;
    AttachmentWrite = "attachment_write" / write;
    MediaRead = "media_read" / read;
    MediaWrite = "media_write" / write;
    Ranges = "ranges" / read;
    ResourceRead = "resource_read" / read;
    ResourceWrite = "resource_write" / write;
    Page = "page" / read;
    Manage = "manage" / write;
    Refused = "refused" / read;
}

impl Reply {
    pub(crate) fn new(action: Action) -> Reply {
        Reply {
            action,
            answer: Answer::of(action),
            minimal: false,
            batch_form: BatchForm::Json,
            is_binary: false,
            is_direct: false,
        }
    }

    /// The headers that an answer of this kind has. Wire: in direct mode all of them tell where the partition stands.
    pub(crate) fn groups(self, answer: Answer) -> Groups {
        if self.is_direct { answer.groups().and(answers::DIRECT) } else { answer.groups() }
    }
}

impl Request<'_> {
    fn not_allowed(&self) -> Error {
        Error::MethodNotAllowed { method: crate::error::excerpt(self.method.as_str()) }
    }

    /// The body as text JSON, whichever form the client sent it in.
    fn json_body(&self) -> Result<Bytes, Error> {
        // Wire: the Rust SDK sends binary JSON unless told not to; answers in text suit every client.
        if binary::is_binary(&self.body) {
            Ok(binary::to_text(&self.body)?.into())
        } else {
            Ok(self.body.clone())
        }
    }

    fn is_query(&self) -> Result<bool, Error> {
        self.headers.is_query()
    }

    fn is_sql(&self) -> Result<bool, Error> {
        self.headers.has_content_type("application/sql")
    }
}

/// Reads the whole request.
pub(crate) fn parse(target: Target, request: &Request<'_>) -> Result<Parsed, Error> {
    request.headers.check_hints()?;
    let options = options::options(request.headers)?;
    match target {
        // The account document is built by the gateway.
        Target::Account => Err(request.not_allowed()),
        Target::DeleteLogicalPartition { container } => {
            items::delete_logical_partition(container, request, options)
        }
        Target::Feed { owner, kind: ResourceKind::Item } => items::feed(owner, request, options),
        Target::Resource { owner, kind: ResourceKind::Item, id } => {
            items::one(owner, id, request, options)
        }
        Target::Feed { owner, kind: ResourceKind::Attachment } => {
            attachments::feed(owner, request, options)
        }
        Target::Resource { owner, kind: ResourceKind::Attachment, id } => {
            attachments::one(owner, id, request, options)
        }
        Target::Media { id } => attachments::media(id, request, options),
        Target::Feed { owner, kind: ResourceKind::Range } => {
            resources::ranges(owner, request, options)
        }
        Target::Resource { kind: ResourceKind::Range, .. } => Err(Error::SingleRangeUnsupported),
        Target::Feed { owner, kind } => resources::feed(owner, kind, request, options),
        Target::Resource { owner, kind, id } => resources::one(owner, kind, id, request, options),
    }
}
