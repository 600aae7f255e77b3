//! Frames: a length, two type words, an activity id, tokens, and a payload if a token says so.
//!
//! The decoder keeps what it has seen of a frame between two reads, so that tokens are looked at once, however
//! slowly a payload arrives. Limits: [`HEAD_BYTES_MAX`] and the payload limit that it is given; a longer payload is
//! skipped without being kept, and reported. So is one that the caller does not want.

#![deny(clippy::indexing_slicing)]

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{
    names::request as ids,
    token::{TokenError, TokenValue, Tokens},
};

/// Length, type words, activity id.
pub(crate) const HEAD_BYTES: usize = 24;

/// Limit: head and tokens of one frame. The longest strings, session token and continuation, have 64 KiB each.
const HEAD_BYTES_MAX: usize = 256 << 10;

/// Limit: a payload up to this length is skipped and answered with 413; a longer one ends the connection.
const SKIPPED_BYTES_MAX: usize = 256 << 20;

/// One request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) resource: u16,
    pub(crate) operation: u16,
    pub(crate) activity: [u8; 16],
    pub(crate) tokens: Bytes,
    pub(crate) payload: Bytes,
}

/// Why a connection cannot go on: whatever follows cannot be told apart any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a frame says it has {0} bytes before its payload")]
    HeadLength(u32),
    #[error("a payload of {0} bytes is too long to skip")]
    PayloadLength(u32),
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// What the bytes so far amount to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// More bytes are needed.
    Incomplete,
    Frame(Frame),
    /// A frame whose payload was thrown away: it was too long, or not wanted.
    Skipped(Frame),
}

#[derive(Debug)]
enum State {
    Head,
    Payload { frame: Frame, length: usize },
    Skipping { frame: Frame, left: usize },
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub(crate) struct Decoder {
    state: State,
    payload_bytes_max: usize,
}

impl Decoder {
    pub(crate) fn new(payload_bytes_max: usize) -> Decoder {
        Decoder { state: State::Head, payload_bytes_max }
    }

    /// Says whether a frame has begun to arrive.
    pub(crate) fn is_in_frame(&self, buffer: &BytesMut) -> bool {
        !buffer.is_empty() || !matches!(self.state, State::Head)
    }

    /// The frame whose payload is on its way, and how long that is. Room for it is the caller's to make.
    pub(crate) fn awaited(&self) -> Option<(&Frame, usize)> {
        match &self.state {
            State::Payload { frame, length } => Some((frame, *length)),
            State::Head | State::Skipping { .. } => None,
        }
    }

    /// Throws away the payload that is on its way.
    pub(crate) fn skip(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Head) {
            State::Payload { frame, length } => State::Skipping { frame, left: length },
            other => other,
        };
    }

    /// Takes the next frame out of `buffer`.
    pub(crate) fn next(&mut self, buffer: &mut BytesMut) -> Result<Decoded, FrameError> {
        loop {
            match std::mem::replace(&mut self.state, State::Head) {
                State::Head => {
                    let Some(state) = self.head(buffer)? else { return Ok(Decoded::Incomplete) };
                    match state {
                        State::Payload { frame, length: 0 } => return Ok(Decoded::Frame(frame)),
                        state => self.state = state,
                    }
                }
                State::Payload { frame, length } if buffer.len() >= length => {
                    let payload = buffer.split_to(length).freeze();
                    return Ok(Decoded::Frame(Frame { payload, ..frame }));
                }
                State::Payload { frame, length } => {
                    self.state = State::Payload { frame, length };
                    return Ok(Decoded::Incomplete);
                }
                State::Skipping { frame, left } => {
                    let n = left.min(buffer.len());
                    buffer.advance(n);
                    if n == left {
                        return Ok(Decoded::Skipped(frame));
                    }
                    self.state = State::Skipping { frame, left: left - n };
                    return Ok(Decoded::Incomplete);
                }
            }
        }
    }

    /// Reads head, tokens and the length of the payload, once all of them are there.
    fn head(&mut self, buffer: &mut BytesMut) -> Result<Option<State>, FrameError> {
        let Some(word) = buffer.first_chunk::<4>() else { return Ok(None) };
        let said = u32::from_le_bytes(*word);
        let length = usize::try_from(said).unwrap_or(usize::MAX);
        if !(HEAD_BYTES..=HEAD_BYTES_MAX).contains(&length) {
            return Err(FrameError::HeadLength(said));
        }
        let Some(head) = buffer.get(..length) else {
            buffer.reserve(length - buffer.len());
            return Ok(None);
        };
        let has_payload = has_payload(head.get(HEAD_BYTES..).unwrap_or_default())?;
        let payload_length = if has_payload {
            let Some(word) = buffer.get(length..).and_then(<[u8]>::first_chunk::<4>) else {
                return Ok(None);
            };
            u32::from_le_bytes(*word)
        } else {
            0
        };
        let mut head = buffer.split_to(length).freeze();
        if has_payload {
            buffer.advance(4);
        }
        head.advance(4);
        let (resource, operation) = (head.get_u16_le(), head.get_u16_le());
        let mut activity = [0; 16];
        head.copy_to_slice(&mut activity);
        let frame = Frame { resource, operation, activity, tokens: head, payload: Bytes::new() };
        let n_bytes = usize::try_from(payload_length).unwrap_or(usize::MAX);
        if n_bytes <= self.payload_bytes_max {
            Ok(Some(State::Payload { frame, length: n_bytes }))
        } else if n_bytes <= SKIPPED_BYTES_MAX {
            Ok(Some(State::Skipping { frame, left: n_bytes }))
        } else {
            Err(FrameError::PayloadLength(payload_length))
        }
    }
}

/// Whether the tokens announce a payload. Wire: the first frame of a connection has no such token, but a version in
/// the place of it that is a number of another type.
fn has_payload(tokens: &[u8]) -> Result<bool, FrameError> {
    for token in Tokens::new(tokens) {
        if let (ids::PAYLOAD_PRESENT, TokenValue::Byte(value)) = token? {
            return Ok(value != 0);
        }
    }
    Ok(false)
}

/// Writes a response: `tokens` fills in what stands between head and payload.
pub(crate) fn write_response(
    out: &mut BytesMut,
    status: u32,
    activity: [u8; 16],
    payload: &[u8],
    tokens: impl FnOnce(&mut BytesMut),
) {
    let start = out.len();
    out.put_u32_le(0);
    out.put_u32_le(status);
    out.put_slice(&activity);
    tokens(out);
    let length = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    if let Some(word) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<4>) {
        *word = length.to_le_bytes();
    }
    if !payload.is_empty() {
        out.put_u32_le(u32::try_from(payload.len()).unwrap_or(u32::MAX));
        out.put_slice(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tokens: &[u8], payload: Option<&[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        let length = u32::try_from(HEAD_BYTES + tokens.len()).unwrap();
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&[3, 0, 1, 0]);
        out.extend_from_slice(&[7; 16]);
        out.extend_from_slice(tokens);
        if let Some(payload) = payload {
            out.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
            out.extend_from_slice(payload);
        }
        out
    }

    const WITH_PAYLOAD: [u8; 4] = [2, 0, 0, 1];

    #[test]
    fn frames_are_cut_however_they_arrive() {
        let first = frame(&WITH_PAYLOAD, Some(b"{\"id\":1}"));
        let second = frame(&[2, 0, 0, 0], None);
        let bytes = [first, second].concat();
        for step in 1..=bytes.len() {
            let (mut decoder, mut buffer) = (Decoder::new(100), BytesMut::new());
            let mut payloads = Vec::new();
            for chunk in bytes.chunks(step) {
                buffer.extend_from_slice(chunk);
                while let Decoded::Frame(frame) = decoder.next(&mut buffer).unwrap() {
                    assert_eq!((frame.resource, frame.operation), (3, 1));
                    assert_eq!(frame.activity, [7; 16]);
                    payloads.push(frame.payload);
                }
            }
            assert_eq!(payloads, [Bytes::from_static(b"{\"id\":1}"), Bytes::new()], "{step}");
            assert!(!decoder.is_in_frame(&buffer));
        }
    }

    #[test]
    fn a_payload_that_is_too_long_is_skipped_and_the_next_frame_is_read() {
        let bytes = [frame(&WITH_PAYLOAD, Some(&[b'x'; 101])), frame(&[2, 0, 0, 0], None)].concat();
        let (mut decoder, mut buffer) = (Decoder::new(100), BytesMut::new());
        let mut seen = Vec::new();
        for chunk in bytes.chunks(10) {
            buffer.extend_from_slice(chunk);
            loop {
                match decoder.next(&mut buffer).unwrap() {
                    Decoded::Incomplete => break,
                    Decoded::Frame(_) => seen.push("whole"),
                    Decoded::Skipped(frame) => {
                        assert!(frame.payload.is_empty());
                        seen.push("too large");
                    }
                }
            }
            assert!(buffer.len() < 64, "what is skipped is not kept");
        }
        assert_eq!(seen, ["too large", "whole"]);
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        for length in [0, 23, u32::try_from(HEAD_BYTES_MAX).unwrap() + 1, u32::MAX] {
            let mut buffer = BytesMut::from(&length.to_le_bytes()[..]);
            let refused = Decoder::new(100).next(&mut buffer);
            assert_eq!(refused, Err(FrameError::HeadLength(length)));
        }
        let mut endless = BytesMut::from(&frame(&WITH_PAYLOAD, None)[..]);
        endless.put_u32_le(u32::MAX);
        let refused = Decoder::new(100).next(&mut endless);
        assert_eq!(refused, Err(FrameError::PayloadLength(u32::MAX)));
        let mut broken = BytesMut::from(&frame(&[1, 0, 0x55], None)[..]);
        let refused = Decoder::new(100).next(&mut broken);
        assert_eq!(refused, Err(FrameError::Token(TokenError::UnknownType(0x55))));
    }
}
