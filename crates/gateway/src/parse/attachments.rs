//! Requests for the attachments of items, and for the media that the server keeps for them.

use account::{
    AttachmentAction, AttachmentInput, ItemAction, Link, MediaAction, Operation, Options,
    ResourceKind,
};
use http::Method;
use percent_encoding::percent_decode_str;

use super::{Action, Parsed, Reply, Request, items};
use crate::{
    answers::Answer,
    error::{Error, excerpt},
    headers::{Name, RequestHeaders},
    paths::Target,
};

/// Wire: kinds of media that there are. The service refuses others, and SDK tests look for it.
const MEDIA_KINDS: [&str; 11] = [
    "application",
    "audio",
    "example",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// Says whether the body of a request is media and no JSON: then it may be longer.
pub(crate) fn brings_media(
    target: &Target,
    method: &Method,
    headers: &RequestHeaders<'_>,
) -> Result<bool, Error> {
    match target {
        Target::Media { .. } => Ok(*method == Method::PUT),
        Target::Feed { kind: ResourceKind::Attachment, .. } if *method == Method::POST => {
            is_media(headers)
        }
        Target::Resource { kind: ResourceKind::Attachment, .. } if *method == Method::PUT => {
            is_media(headers)
        }
        _ => Ok(false),
    }
}

/// Wire: a name in `Slug`, or a content type other than JSON, makes the body media.
fn is_media(headers: &RequestHeaders<'_>) -> Result<bool, Error> {
    if headers.is_query()? {
        return Ok(false);
    }
    let essence = headers.content_type()?;
    let is_json = essence.is_empty() || essence.eq_ignore_ascii_case("application/json");
    Ok(!is_json || headers.get(Name::Slug)?.is_some())
}

/// `…/docs/{id}/attachments`
pub(super) fn feed(
    owner: Link,
    request: &Request<'_>,
    mut options: Options,
) -> Result<Parsed, Error> {
    let headers = request.headers;
    let (action, kind, answer) = match *request.method {
        Method::GET if headers.get(Name::AIm)?.is_some() => {
            return Err(Error::OperationUnsupported("A change feed"));
        }
        Method::GET => {
            // Wire: a plain feed ignores it.
            options.if_none_match = None;
            (AttachmentAction::List, Action::AttachmentRead, Answer::Attachments)
        }
        Method::POST if headers.is_on(Name::IsQueryPlan)? => {
            return Err(Error::OperationUnsupported("A query plan"));
        }
        Method::POST if headers.is_on(Name::IsBatch)? => {
            return Err(Error::OperationUnsupported("A batch"));
        }
        Method::POST if request.is_query()? => {
            let query = request.query_text()?;
            (AttachmentAction::Query { query }, Action::AttachmentRead, Answer::Query)
        }
        Method::POST => {
            let is_upsert = headers.is_on(Name::IsUpsert)?;
            let content = content(request)?;
            let answer = match &content {
                AttachmentInput::Json(_) => Answer::AttachmentCreate,
                AttachmentInput::Media { .. } => Answer::AttachmentUpload,
            };
            (AttachmentAction::Create { content, is_upsert }, Action::AttachmentWrite, answer)
        }
        _ => return Err(request.not_allowed()),
    };
    finish(owner, action, Reply { answer, ..Reply::new(kind) }, request, options)
}

/// `…/docs/{id}/attachments/{id}`
pub(super) fn one(
    owner: Link,
    id: String,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    let (action, kind, answer) = match *request.method {
        Method::GET => {
            (AttachmentAction::Read { id }, Action::AttachmentRead, Answer::AttachmentRead)
        }
        Method::PUT => {
            let content = content(request)?;
            let action = AttachmentAction::Replace { id, content };
            (action, Action::AttachmentWrite, Answer::AttachmentReplace)
        }
        Method::DELETE => {
            (AttachmentAction::Delete { id }, Action::AttachmentWrite, Answer::AttachmentDelete)
        }
        _ => return Err(request.not_allowed()),
    };
    finish(owner, action, Reply { answer, ..Reply::new(kind) }, request, options)
}

/// `media/{id}`
pub(super) fn media(id: String, request: &Request<'_>, options: Options) -> Result<Parsed, Error> {
    let (action, kind) = match *request.method {
        Method::GET => (MediaAction::Read, Action::MediaRead),
        Method::HEAD => (MediaAction::Head, Action::MediaRead),
        Method::PUT => {
            let (content_type, bytes) = (media_type(request.headers)?, request.body.clone());
            (MediaAction::Replace { content_type, bytes }, Action::MediaWrite)
        }
        _ => return Err(request.not_allowed()),
    };
    let reply = Reply::new(kind);
    Ok(Parsed { operation: Operation::Media { id, action }, options, reply })
}

fn content(request: &Request<'_>) -> Result<AttachmentInput, Error> {
    let headers = request.headers;
    if !is_media(headers)? {
        return Ok(AttachmentInput::Json(request.json_body()?));
    }
    let slug = headers.get(Name::Slug)?.map(|slug| {
        // RFC 5023: the name is percent-encoded. What is not is taken as it is.
        percent_decode_str(slug).decode_utf8().map_or_else(|_| slug.to_owned(), String::from)
    });
    let content_type = media_type(headers)?;
    Ok(AttachmentInput::Media { slug, content_type, bytes: request.body.clone() })
}

/// The kind of the media that a request brings.
fn media_type(headers: &RequestHeaders<'_>) -> Result<String, Error> {
    let Some(text) = headers.get(Name::ContentType)? else {
        return Ok("application/octet-stream".to_owned());
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let is_name = |name: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !name.is_empty() && name.bytes().all(is_part)
    };
    let is_known = essence.split_once('/').is_some_and(|(kind, rest)| {
        MEDIA_KINDS.iter().any(|known| known.eq_ignore_ascii_case(kind)) && is_name(rest)
    });
    if is_known {
        Ok(text.to_owned())
    } else {
        let expected = "Expected a media type such as 'image/png'.";
        Err(Error::header(Name::ContentType.text(), &excerpt(text), expected))
    }
}

fn finish(
    mut owner: Link,
    action: AttachmentAction,
    reply: Reply,
    request: &Request<'_>,
    options: Options,
) -> Result<Parsed, Error> {
    // Invariant: the path was taken apart as one of attachments, so their item stands last.
    let (_, item) = owner.segments.pop().ok_or(Error::UrlInvalid)?;
    let minimal = reply.action.is_write() && request.headers.is_minimal()?;
    let reply = Reply { minimal, ..reply };
    items::finish(owner, ItemAction::Attachment { item, action }, reply, request, options)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn kinds_of_media_are_those_that_there_are() {
        #[rustfmt::skip]
        let table = [
            ("image/png", true), ("application/text", true), ("text/plain; charset=utf-8", true), ("Video/MP4", true),
            ("application/vnd.ms-excel", true), ("", true), ("junt/test", false), ("image", false), ("image/", false),
            ("/png", false), ("image/a b", false), ("image/png/x", false),
        ];
        for (text, is_known) in table {
            let mut map = HeaderMap::new();
            map.insert("content-type", text.parse().unwrap());
            let headers = RequestHeaders::collect(&map).unwrap();
            assert_eq!(media_type(&headers).is_ok(), is_known, "{text}");
        }
    }
}
