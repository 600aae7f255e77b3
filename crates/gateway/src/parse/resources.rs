//! Requests for everything that is not an item.

use account::{Link, Operation, Options, ResourceKind};
use http::Method;

use super::{Action, Parsed, Reply, Request, items};
use crate::{answers::Answer, error::Error, headers::Name};

/// `…/pkranges`
pub(super) fn ranges(
    container: Link,
    request: &Request<'_>,
    mut options: Options,
) -> Result<Parsed, Error> {
    if *request.method != Method::GET {
        return Err(request.not_allowed());
    }
    let is_incremental = match request.headers.get(Name::AIm)? {
        None => false,
        Some(mode) if mode.eq_ignore_ascii_case("Incremental Feed") => true,
        Some(mode) => {
            let expected = "Expected 'Incremental Feed'.";
            return Err(Error::header(Name::AIm.text(), mode, expected));
        }
    };
    let since = options.if_none_match.take();
    let operation = Operation::Ranges { container, since, is_incremental };
    let answer = if is_incremental { Answer::RangesSince } else { Answer::Ranges };
    Ok(Parsed { operation, options, reply: Reply { answer, ..Reply::new(Action::Ranges) } })
}

/// A feed: list, query or create.
pub(super) fn feed(
    owner: Link,
    kind: ResourceKind,
    request: &Request<'_>,
    mut options: Options,
) -> Result<Parsed, Error> {
    let headers = request.headers;
    if headers.get(Name::AIm)?.is_some() {
        return Err(Error::OperationUnsupported("A change feed"));
    }
    let (operation, action) = match *request.method {
        Method::GET | Method::HEAD if may_read(request) => {
            // Wire: a plain feed ignores it.
            options.if_none_match = None;
            let is_barrier = *request.method == Method::HEAD;
            let action = if is_barrier { Action::Barrier } else { Action::ResourceRead };
            (Operation::List { owner, kind }, action)
        }
        Method::POST if headers.is_on(Name::IsQueryPlan)? => {
            return Err(Error::OperationUnsupported("A query plan"));
        }
        Method::POST if headers.is_on(Name::IsBatch)? => {
            return Err(Error::OperationUnsupported("A batch"));
        }
        Method::POST if request.is_query()? => {
            let query = request.query_text()?;
            // A request that names its key or its range does not cross partitions.
            let has_scope =
                headers.get(Name::PartitionKey)?.is_some() || headers.get(Name::RangeId)?.is_some();
            let cross_partition = has_scope || headers.is_on(Name::CrossPartition)?;
            let operation = Operation::QueryResources { owner, kind, query, cross_partition };
            (operation, Action::ResourceRead)
        }
        Method::POST if may(kind, Verb::Create) => {
            (create(owner, kind, request)?, Action::ResourceWrite)
        }
        _ => return Err(request.not_allowed()),
    };
    let answer = match action {
        Action::ResourceWrite => Answer::of_resource(kind, request.method),
        _ => Answer::of_list(kind),
    };
    Ok(Parsed { operation, options, reply: Reply { answer, ..Reply::new(action) } })
}

fn create(owner: Link, kind: ResourceKind, request: &Request<'_>) -> Result<Operation, Error> {
    let is_upsert = request.headers.is_on(Name::IsUpsert)?;
    if is_upsert && !may(kind, Verb::Upsert) {
        return Err(Error::OperationUnsupported("Upsert"));
    }
    Ok(Operation::Create { owner, kind, body: request.json_body()?, is_upsert })
}

/// A single resource.
pub(super) fn one(
    owner: Link,
    kind: ResourceKind,
    id: String,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    if kind == ResourceKind::StoredProcedure && *request.method == Method::POST {
        return items::execute(owner, id, request, options);
    }
    if kind == ResourceKind::Container && *request.method == Method::HEAD && request.is_direct {
        let mut container = owner;
        container.segments.push((kind, id));
        return items::head(container, request, options);
    }
    let mut link = owner;
    link.segments.push((kind, id));
    let (operation, action) = match *request.method {
        Method::GET => (Operation::Read { link }, Action::ResourceRead),
        Method::PUT if may(kind, Verb::Replace) => {
            (Operation::Replace { link, body: request.json_body()? }, Action::ResourceWrite)
        }
        Method::DELETE if may(kind, Verb::Delete) => {
            (Operation::Delete { link }, Action::ResourceWrite)
        }
        _ => return Err(request.not_allowed()),
    };
    let answer = Answer::of_resource(kind, request.method);
    Ok(Parsed { operation, options, reply: Reply { answer, ..Reply::new(action) } })
}

/// Wire: HEAD is asked in direct mode only.
fn may_read(request: &Request<'_>) -> bool {
    *request.method == Method::GET || request.is_direct
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Upsert,
    Replace,
    Delete,
}

/// What the service lets clients do with each kind of resource, beside reading it.
fn may(kind: ResourceKind, verb: Verb) -> bool {
    use ResourceKind as Kind;
    match kind {
        Kind::Database => matches!(verb, Verb::Create | Verb::Delete),
        Kind::Container => verb != Verb::Upsert,
        Kind::StoredProcedure | Kind::Trigger | Kind::Udf | Kind::User | Kind::Permission => true,
        Kind::EncryptionKey => matches!(verb, Verb::Create | Verb::Replace),
        Kind::Conflict => verb == Verb::Delete,
        Kind::Offer => verb == Verb::Replace,
        Kind::Item | Kind::Attachment | Kind::Range => false,
    }
}
