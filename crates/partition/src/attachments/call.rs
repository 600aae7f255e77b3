//! What a caller asks of the attachments of an item.

use bytes::Bytes;
use model::{ItemBody, Value, check_resource_id};

use crate::{Error, Result};

/// One operation on one attachment, with its preconditions.
#[derive(Debug, Clone)]
pub struct AttachmentCall {
    /// The id of the item.
    pub item: String,
    pub op: AttachmentOp,
    pub if_match: Option<String>,
    pub if_none_match: Option<String>,
}

/// The operations on one attachment.
#[derive(Debug, Clone)]
pub enum AttachmentOp {
    Create(AttachmentContent),
    Upsert(AttachmentContent),
    /// `id` is the attachment to replace; JSON may carry another id: a rename.
    Replace {
        id: String,
        content: AttachmentContent,
    },
    /// Replaces the media that we keep and leaves the rest as it is.
    ReplaceMedia {
        id: String,
        media: Media,
    },
    Delete {
        id: String,
    },
    Read {
        id: String,
    },
}

/// What an attachment is made of.
#[derive(Debug, Clone)]
pub enum AttachmentContent {
    /// Properties of the client's own, and a link to media somewhere.
    Json(AttachmentBody),
    /// Media that we keep; the properties are made from it.
    Media { id: String, media: Media },
}

/// Bytes of a kind that the client names.
#[derive(Debug, Clone)]
pub struct Media {
    pub content_type: String,
    pub bytes: Bytes,
}

/// The checked JSON of an attachment.
#[derive(Debug, Clone)]
pub struct AttachmentBody {
    pub(crate) body: ItemBody,
    /// The value of `media`.
    pub(crate) link: String,
}

impl AttachmentBody {
    /// Checks the bytes of an attachment as sent.
    pub fn parse(bytes: &[u8]) -> Result<AttachmentBody> {
        AttachmentBody::new(ItemBody::parse(bytes)?)
    }

    /// Wire: an attachment has a `contentType` and a `media`, both text.
    pub(crate) fn new(body: ItemBody) -> Result<AttachmentBody> {
        check_id(body.id())?;
        let value = body.to_value();
        let text = |property: &'static str| match value.get(property) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(Error::AttachmentPropertyInvalid { property }),
            None => Err(Error::AttachmentPropertyMissing { property }),
        };
        text("contentType")?;
        let link = text("media")?;
        Ok(AttachmentBody { body, link })
    }
}

/// An attachment is named by its path, so its id is one that a path can have.
fn check_id(id: &str) -> Result<()> {
    Ok(check_resource_id(id).map_err(model::ItemError::from)?)
}

impl AttachmentContent {
    /// Takes media under an id, which a client sends as `Slug`.
    pub fn media(id: String, media: Media) -> Result<AttachmentContent> {
        check_id(&id)?;
        Ok(AttachmentContent::Media { id, media })
    }

    pub(crate) fn id(&self) -> &str {
        match self {
            AttachmentContent::Json(json) => json.body.id(),
            AttachmentContent::Media { id, .. } => id,
        }
    }
}

impl AttachmentCall {
    /// Makes a call without preconditions.
    pub fn new(item: impl Into<String>, op: AttachmentOp) -> AttachmentCall {
        AttachmentCall { item: item.into(), op, if_match: None, if_none_match: None }
    }
}
