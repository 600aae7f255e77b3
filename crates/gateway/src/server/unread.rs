//! Requests that are answered before all of them has arrived.
//!
//! A client that is refused may still be sending, and may look for the answer only when it is done. HTTP/1.1: a short rest
//! is read and thrown away, so that the connection can be used again; for a long one the answer says `connection: close`
//! and the connection lingers ([`super::lingering`]). HTTP/2: the rest belongs to the answer and is dropped after it, which
//! tells the client to stop without an error (`RST_STREAM` with `NO_ERROR`).

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::{connection_table::UnderWay, lingering::Unread, unsent::Count};
use crate::manage::events::EventStream;

/// Limit: what is thrown away of a request so that its connection lives on, and how long that may take.
const REST_BYTES_MAX: u64 = 1 << 20;
const REST_TIME: Duration = Duration::from_millis(500);

/// The body of an answer, counted as long as it is unread, and what was not read of its request.
#[derive(Debug)]
pub(super) struct Answered {
    body: Full<Bytes>,
    count: Option<Count>,
    /// Sent instead of the body. A connection that sends events is not idle.
    events: Option<(EventStream, UnderWay)>,
    _rest: Option<Incoming>,
}

impl Answered {
    /// `count` is told how long the body is.
    pub(super) fn new(body: Full<Bytes>, count: impl FnOnce(usize) -> Option<Count>) -> Answered {
        let n_bytes = body.size_hint().lower();
        let count = count(usize::try_from(n_bytes).unwrap_or(usize::MAX));
        Answered { body, count, events: None, _rest: None }
    }

    /// Sends events instead of the body.
    pub(super) fn then(self, events: EventStream, under_way: UnderWay) -> Answered {
        Answered { events: Some((events, under_way)), ..self }
    }
}

impl Body for Answered {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some((events, _)) = &mut self.events {
            return events
                .poll_next(context)
                .map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match (frame, self.count.take()) {
            (Poll::Ready(Some(Ok(frame))), Some(count)) => {
                Poll::Ready(Some(Ok(frame.map_data(|bytes| count.hold(bytes)))))
            }
            (frame, _) => frame,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.events.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.events.is_some() { SizeHint::default() } else { self.body.size_hint() }
    }
}

/// The answer to a request over HTTP/1.1 whose body may have a rest.
pub(super) async fn over_http1(
    mut response: Response<Answered>,
    mut rest: Incoming,
    unread: &Unread,
    expects_to_be_asked: bool,
) -> Response<Answered> {
    // Who was waited for in vain is not waited for again.
    let is_late = response.status() == StatusCode::REQUEST_TIMEOUT;
    let may_read = !expects_to_be_asked && !is_late;
    let is_read = rest.is_end_stream() || may_read && is_read_off(&mut rest).await;
    if !is_read {
        unread.set();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The answer to a request over HTTP/2 whose body may have a rest.
pub(super) fn over_http2(response: Response<Answered>, rest: Incoming) -> Response<Answered> {
    let rest = (!rest.is_end_stream()).then_some(rest);
    response.map(|body| Answered { _rest: rest, ..body })
}

/// Says whether the client waits to be asked before it sends a body: who is refused need not be.
pub(super) fn expects_to_be_asked(headers: &HeaderMap) -> bool {
    headers.contains_key(header::EXPECT)
}

/// Reads and throws away a short rest. Returns whether that was all of it.
async fn is_read_off(rest: &mut Incoming) -> bool {
    if rest.size_hint().lower() > REST_BYTES_MAX {
        return false;
    }
    let read = async {
        let mut n_bytes = 0;
        while let Some(frame) = rest.frame().await {
            let Ok(frame) = frame else { return false };
            n_bytes +=
                frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
            if n_bytes > REST_BYTES_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(REST_TIME, read).await.unwrap_or(false)
}
