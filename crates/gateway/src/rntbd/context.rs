//! Context negotiation: the first frame of a connection, in which client and server name their versions.

use bytes::BytesMut;

use super::{
    frame::{self, Frame},
    names::{context as ids, operation, resource},
    token::{TokenError, TokenValue, TokenWriter, Tokens},
};

/// Wire: there has been one version of the protocol.
const PROTOCOL_VERSION: u32 = 1;

/// What the answer says of idle connections; clients look at it and go on.
const IDLE_TIMEOUT_SECONDS: u32 = 3600;
const UNAUTHENTICATED_TIMEOUT_SECONDS: u32 = 30;

/// What came of the first frame.
#[derive(Debug)]
pub(crate) struct Negotiated {
    pub(crate) answer: BytesMut,
    /// The API version of the client; none if the connection cannot go on.
    pub(crate) version: Option<String>,
}

/// Answers the first frame.
pub(crate) fn answer(frame: &Frame) -> Result<Negotiated, TokenError> {
    let mut protocol = None;
    let mut version = None;
    for token in Tokens::new(&frame.tokens) {
        match token? {
            (ids::PROTOCOL_VERSION, TokenValue::Unsigned(number)) => protocol = Some(number),
            (ids::CLIENT_VERSION, TokenValue::Text(text)) => version = Some(text),
            _ => {}
        }
    }
    let is_first =
        frame.resource == resource::CONNECTION && frame.operation == operation::CONNECTION;
    let is_known = protocol == Some(PROTOCOL_VERSION.into());
    let version = version.filter(|_| is_first && is_known);
    let (status, payload): (u32, &[u8]) = if version.is_some() {
        (200, b"")
    } else {
        let body = br#"{"code":"BadRequest","message":"The first frame of a connection names version 1 of the protocol and an API version."}"#;
        (400, body)
    };
    let mut out = BytesMut::new();
    frame::write_response(&mut out, status, frame.activity, payload, |out| {
        let mut tokens = TokenWriter::new(out);
        tokens.unsigned(ids::PROTOCOL_VERSION, PROTOCOL_VERSION);
        tokens.small_text(ids::CLIENT_VERSION, version.unwrap_or("2020-07-15").as_bytes());
        tokens.small_text(ids::SERVER_AGENT, b"Orrery");
        tokens.small_text(ids::SERVER_VERSION, b"version=2.14.0.0");
        tokens.unsigned(ids::IDLE_TIMEOUT_SECONDS, IDLE_TIMEOUT_SECONDS);
        tokens.unsigned(ids::UNAUTHENTICATED_TIMEOUT_SECONDS, UNAUTHENTICATED_TIMEOUT_SECONDS);
    });
    Ok(Negotiated { answer: out, version: version.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use crate::rntbd::{Decoded, Decoder};

    /// The first bytes that the Java SDK sends, with a shorter user agent.
    const JAVA: &str = "30000000000000006051f12af8d49849ad30e6d23bb16eab0000020100000001000 70a323032302d30372d3135";

    fn bytes(hex: &str) -> BytesMut {
        let digits: Vec<u8> = hex.bytes().filter(|digit| *digit != b' ').collect();
        let octet =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(octet).collect()
    }

    fn negotiated(mut bytes: BytesMut) -> Negotiated {
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        match Decoder::new(10).next(&mut bytes).unwrap() {
            Decoded::Frame(frame) => answer(&frame).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_frame_of_java_is_answered() {
        let done = negotiated(bytes(JAVA));
        assert_eq!(done.version.as_deref(), Some("2020-07-15"));
        assert_eq!(done.answer[4..8], [200, 0, 0, 0]);
        assert_eq!(done.answer[8..24], bytes(JAVA)[8..24]);
        let length = u32::from_le_bytes(done.answer[..4].try_into().unwrap());
        assert_eq!(usize::try_from(length).unwrap(), done.answer.len(), "no payload");
    }

    #[test]
    fn another_protocol_is_refused_with_a_reason() {
        let other = bytes(&JAVA.replace("0000020100000001", "0000020200000001"));
        let done = negotiated(other);
        assert_eq!(done.version, None);
        assert_eq!(done.answer[4..8], 400u32.to_le_bytes());
        assert!(done.answer.ends_with(b"}"));
    }
}
