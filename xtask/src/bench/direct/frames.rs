//! Requests of direct mode, as the SDKs send them.

use anyhow::{Context as _, Result};

use crate::bench::load::Source;
use crate::bench::setup::{CONTAINER, item_with_key, key_of};
use crate::client::Account;

const ITEM: u16 = 3;
const CREATE: u16 = 1;
const READ: u16 = 3;
const PRIMARY: &str = "/apps/orrery/services/items/partitions/p/replicas/1p/";

/// Head and tokens of a request; what a client sends of a payload follows.
#[derive(Debug, Clone)]
struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    fn new(resource: u16, operation: u16) -> Frame {
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&resource.to_le_bytes());
        bytes.extend_from_slice(&operation.to_le_bytes());
        bytes.extend_from_slice(&[9; 16]);
        Frame { bytes }
    }

    fn token(mut self, id: u16, kind: u8, value: &[&[u8]]) -> Frame {
        self.bytes.extend_from_slice(&id.to_le_bytes());
        self.bytes.push(kind);
        for part in value {
            self.bytes.extend_from_slice(part);
        }
        self
    }

    fn text(self, id: u16, text: &str) -> Frame {
        // No text of ours is as long as 64 KiB.
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX).to_le_bytes();
        self.token(id, 8, &[&length, text.as_bytes()])
    }

    fn short_text(self, id: u16, text: &str) -> Frame {
        let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
        self.token(id, 7, &[&[length], text.as_bytes()])
    }

    fn number(self, id: u16, value: u32) -> Frame {
        self.token(id, 2, &[&value.to_le_bytes()])
    }

    /// Writes the length of what is there, and the payload behind it.
    fn finish(self, payload: Option<&[u8]>) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        let mut bytes = self.token(0x02, 0, &[&[u8::from(payload.is_some())]]).bytes;
        let own = length(&bytes);
        bytes[..4].copy_from_slice(&own);
        if let Some(payload) = payload {
            bytes.extend_from_slice(&length(payload));
            bytes.extend_from_slice(payload);
        }
        bytes
    }

    /// An operation on the items of the container that is measured.
    fn signed(account: &Account, (verb, operation): (&str, u16), path: &str) -> Result<Frame> {
        let date = account.date();
        let mut names = CONTAINER.split('/').skip(1).step_by(2);
        let database = names.next().context("a database")?;
        let container = names.next().context("a container")?;
        Ok(Frame::new(ITEM, operation)
            .text(0x01, &account.authorization(verb, path, &date)?)
            .short_text(0x03, &date)
            .text(0x13, PRIMARY)
            .text(0x15, database)
            .text(0x16, container))
    }
}

/// The first frame of a connection.
pub(super) fn context() -> Vec<u8> {
    let mut bytes =
        Frame::new(0, 0).number(0, 1).short_text(1, "2020-07-15").short_text(2, "bench").bytes;
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    bytes
}

pub(super) fn reads(account: &Account, n_items: u64) -> Result<Source> {
    let frames: Vec<Vec<u8>> = (0..n_items)
        .map(|n| {
            let frame = Frame::signed(account, ("GET", READ), &format!("{CONTAINER}/docs/i{n}"))?;
            let frame = frame
                .text(0x17, &format!("i{n}"))
                .text(0x2B, &format!("[\"{}\"]", key_of(n)))
                .number(0x4D, u32::try_from(n)?);
            Ok(frame.finish(None))
        })
        .collect::<Result<_>>()?;
    Ok(Box::new(move |n| frames[usize::try_from(n).unwrap_or(0) % frames.len()].clone()))
}

/// Creates without the item in the answer, with keys as the creates over HTTP have.
pub(super) fn creates(account: &Account, run: u32) -> Result<Source> {
    let start = Frame::signed(account, ("POST", CREATE), &format!("{CONTAINER}/docs"))?;
    // Prefer: return=minimal.
    let start = start.token(0x82, 0, &[&[1]]);
    Ok(Box::new(move |n| {
        let key = format!("p0-{}", n % 50);
        let body = item_with_key(&format!("d{run}-{n}"), &key, n);
        let frame = start.clone().text(0x2B, &format!("[\"{key}\"]"));
        let transport = u32::try_from(n).unwrap_or(u32::MAX);
        frame.number(0x4D, transport).finish(Some(body.as_bytes()))
    }))
}
