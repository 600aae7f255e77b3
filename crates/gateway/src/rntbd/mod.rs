//! RNTBD, the binary protocol of direct mode: frames of typed tokens, multiplexed over one TLS connection.
//!
//! Java and .NET use it by default. A frame becomes the HTTP request that means the same, which goes through
//! [`crate::service::answer`] like any other; the response becomes a frame again. So there is one place that
//! understands a request and one that writes a response, and no rule about data lives here.
//!
//! ```text
//! bytes ─ frame.rs ─ token.rs ─ request.rs ─→ service::answer ─→ response.rs ─ token.rs ─ bytes
//!                      context.rs (the first frame)      server/direct.rs (order, limits, deadlines)
//! ```
//!
//! Invariant: every response frame carries the id of its request and an LSN of at least 1; clients wait for their
//! time-out or drop the connection without them.

pub(crate) mod context;
mod frame;
#[cfg(test)]
mod golden;
mod names;
pub(crate) mod request;
pub(crate) mod response;
mod token;

pub(crate) use self::{
    frame::{Decoded, Decoder, Frame},
    request::{DirectFacts, DirectRequest, Echo},
};

/// Runs the decoder on foreign bytes; used by fuzz targets.
pub(crate) fn fuzz(bytes: &[u8]) {
    let mut buffer = bytes::BytesMut::from(bytes);
    let mut decoder = Decoder::new(4096);
    while let Ok(Decoded::Frame(frame)) = decoder.next(&mut buffer) {
        let _ = request::to_http(&frame, "2020-07-15");
        let _ = context::answer(&frame);
    }
}
