//! One connection of direct mode: frames in, responses out in whatever order they are ready.
//!
//! The task of the connection reads frames, answers point reads at once, and spawns a task for everything else, so
//! that a long query holds up nobody.
//!
//! Invariants: requests in flight and their bytes are bounded, and reading stops at the bound (back-pressure); a payload
//! is taken in only from a sender with a key or token, and counts for the budget of all bodies; responses are whole
//! frames, never interleaved; **each response begins a TLS record of its own**; a client that does not read is dropped
//! after a time; a connection without requests keeps no buffer that one of them has filled.
//!
//! The rule about records is for the Java SDK. It decodes a response lazily, from a buffer whose rest it has moved to
//! the front by then, so a response is garbled as soon as a byte of the next one lies behind it. The buffers it gets
//! are TLS records, and the service sends one response in each.

use std::{future::poll_fn, io, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Body as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf},
    task::{JoinError, JoinSet},
    time::{Instant, timeout},
};

use super::{
    connection_table::{Entry, Verdict},
    unsent::{Count, Running},
};
use crate::{
    account_document::Arrival,
    body_budget::{BodyShare, COUNTED_BYTES_MIN, STALL_MAX_UNDER_PRESSURE},
    error::Error,
    gateway::State,
    rntbd::{Decoded, Decoder, DirectRequest, Echo, Frame, context, request, response},
    service::{self, Room},
};

/// Limit: requests of one connection that are under way. SDKs keep to 30 unless told otherwise.
const REQUESTS_MAX: usize = 256;

/// Limit: bytes of payloads of requests that are under way; one request is always let in.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Limit: responses are written out before more of them gather than this.
const OUT_BYTES_MAX: usize = 1 << 20;

/// Limit: how long a client may take to read what it asked for.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit: a client that takes no bytes has this long to take the last ones, those that say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Limit: the first frame of a connection has no payload; a reason for it that somebody may give is short.
const FIRST_PAYLOAD_BYTES_MAX: usize = 1 << 10;

const READ_BUFFER_BYTES: usize = 16 << 10;

/// What a connection without requests reads into; a point read fits.
const IDLE_BUFFER_BYTES: usize = 512;

/// Limit: room for responses that a connection without requests keeps.
const IDLE_OUT_BYTES_MAX: usize = 4 << 10;

/// A response that is ready.
#[derive(Debug)]
struct Answered {
    echo: Echo,
    response: Response<Full<Bytes>>,
    /// Counts a long answer until it is written.
    count: Option<Count>,
    /// What the request held while it was under way.
    n_bytes: usize,
}

/// Responses that wait to be written.
#[derive(Debug, Default)]
struct Outgoing {
    bytes: BytesMut,
    /// Where each response ends in `bytes`.
    ends: Vec<usize>,
}

/// A frame that is on its way.
#[derive(Debug)]
struct Arriving {
    /// When it began.
    since: Instant,
    /// When something of it came last.
    latest: Instant,
    /// Its sender has shown who it is.
    is_admitted: bool,
    /// Why its payload is thrown away.
    refusal: Option<Error>,
}

impl Arriving {
    fn now() -> Arriving {
        let now = Instant::now();
        Arriving { since: now, latest: now, is_admitted: false, refusal: None }
    }
}

struct Connection<S> {
    state: Arc<State>,
    entry: Arc<Entry>,
    arrival: Arrival,
    version: String,
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    decoder: Decoder,
    incoming: BytesMut,
    arriving: Option<Arriving>,
    /// What the payload on its way counts for.
    share: BodyShare,
    outgoing: Outgoing,
    /// What the answers in `outgoing` count for.
    counts: Vec<Count>,
    under_way: JoinSet<Answered>,
    bytes_under_way: usize,
    /// No, once the client has said its last or the connection is told to end.
    is_reading: bool,
}

/// Serves a connection whose first bytes are a frame, until the client leaves, breaks the protocol, or it is told to end.
pub(super) async fn serve<S>(
    state: &Arc<State>,
    stream: S,
    entry: &Arc<Entry>,
    arrival: Arrival,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let mut connection = Connection {
        state: Arc::clone(state),
        entry: Arc::clone(entry),
        arrival,
        version: String::new(),
        reader,
        writer,
        decoder: Decoder::new(FIRST_PAYLOAD_BYTES_MAX),
        incoming: BytesMut::with_capacity(READ_BUFFER_BYTES),
        arriving: None,
        share: BodyShare::none(&state.bodies),
        outgoing: Outgoing::default(),
        counts: Vec::new(),
        under_way: JoinSet::new(),
        bytes_under_way: 0,
        is_reading: true,
    };
    let is_open = timeout(state.options.limits.greeting_timeout, connection.negotiate()).await;
    if is_open.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
        entry.negotiated();
        connection.decoder = Decoder::new(state.options.limits.body_bytes_max);
        connection.run().await?;
    }
    let closing = timeout(CLOSE_TIMEOUT, connection.writer.shutdown());
    closing.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// Answers the first frame; says whether the connection goes on.
    async fn negotiate(&mut self) -> io::Result<bool> {
        let frame = loop {
            match self.decoder.next(&mut self.incoming).map_err(broken)? {
                Decoded::Frame(frame) => break frame,
                Decoded::Skipped(_) => return Err(io::ErrorKind::InvalidData.into()),
                Decoded::Incomplete if self.read().await? == 0 => return Ok(false),
                Decoded::Incomplete => {}
            }
        };
        let negotiated = context::answer(&frame).map_err(broken)?;
        self.writer.write_all(&negotiated.answer).await?;
        self.writer.flush().await?;
        self.version = negotiated.version.clone().unwrap_or_default();
        Ok(negotiated.version.is_some())
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.incoming.reserve(READ_BUFFER_BYTES);
        self.reader.read_buf(&mut self.incoming).await
    }

    /// Whether another request may come in.
    fn has_room(&self) -> bool {
        self.under_way.is_empty()
            || self.under_way.len() < REQUESTS_MAX && self.bytes_under_way < REQUEST_BYTES_MAX
    }

    /// Reads and answers until either side ends it. Requests under way at a stop are answered.
    async fn run(&mut self) -> io::Result<()> {
        let entry = Arc::clone(&self.entry);
        loop {
            if self.is_reading {
                self.take_frames().await?;
            }
            self.collect_ready();
            self.flush().await?;
            if !self.is_reading && self.under_way.is_empty() {
                return Ok(());
            }
            let is_in_frame = self.decoder.is_in_frame(&self.incoming);
            if !is_in_frame && self.under_way.is_empty() {
                self.arriving = None;
                self.is_reading = self.rest(&entry).await?;
                continue;
            }
            let is_open = self.is_reading && self.has_room();
            let next_look = self.look_after_frame(is_open)?;
            self.incoming.reserve(READ_BUFFER_BYTES);
            tokio::select! {
                read = self.reader.read_buf(&mut self.incoming), if is_open => {
                    self.is_reading = read? > 0;
                    if let Some(arriving) = &mut self.arriving {
                        arriving.latest = Instant::now();
                    }
                }
                Some(done) = self.under_way.join_next() => self.finish(done),
                verdict = entry.ended() => match verdict {
                    Verdict::Now => return Ok(()),
                    Verdict::Gracefully => self.is_reading = false,
                },
                () = tokio::time::sleep_until(next_look), if is_open && self.arriving.is_some() => {}
            }
        }
    }

    /// Waits for the next request with next to no memory: SDKs keep connections for ever, and most of them are idle. The
    /// watchdog looks after them meanwhile. Says whether there is something to read.
    async fn rest(&mut self, entry: &Entry) -> io::Result<bool> {
        self.incoming = BytesMut::new();
        self.outgoing.shrink();
        let mut start = [0; IDLE_BUFFER_BYTES];
        tokio::select! {
            read = self.reader.read(&mut start) => {
                let n_bytes = read?;
                self.incoming.extend_from_slice(&start[..n_bytes]);
                Ok(n_bytes > 0)
            }
            _ = entry.ended() => Ok(false),
        }
    }

    /// Ends the connection when the frame on its way takes too long; says when to look again. Between frames the watchdog
    /// looks after idle connections, and while nothing is read no time passes.
    fn look_after_frame(&mut self, is_open: bool) -> io::Result<Instant> {
        let now = Instant::now();
        if !is_open || !self.decoder.is_in_frame(&self.incoming) {
            self.arriving = None;
            return Ok(now);
        }
        let arriving = self.arriving.get_or_insert_with(Arriving::now);
        let end = arriving.since + self.state.options.limits.body_timeout;
        let stalled = arriving.latest + STALL_MAX_UNDER_PRESSURE;
        let is_stalled = now >= stalled && self.share.budget().is_pressed();
        if now >= end || is_stalled {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(end.min(if now >= stalled { now + STALL_MAX_UNDER_PRESSURE } else { stalled }))
    }

    /// Starts every request that has arrived whole and for which there is room.
    async fn take_frames(&mut self) -> io::Result<()> {
        while self.has_room() {
            match self.decoder.next(&mut self.incoming).map_err(broken)? {
                Decoded::Incomplete if self.admit()? => return Ok(()),
                Decoded::Incomplete => continue,
                Decoded::Frame(frame) => self.start(&frame, None).await?,
                Decoded::Skipped(frame) => {
                    let refusal = self.arriving.as_mut().and_then(|it| it.refusal.take());
                    let bytes_max = self.state.options.limits.body_bytes_max;
                    let refusal = refusal.unwrap_or(Error::BodyTooLarge { bytes_max });
                    self.start(&frame, Some(refusal)).await?;
                }
            }
            self.arriving = None;
        }
        Ok(())
    }

    /// Looks at the head of a frame whose payload is on its way, once: only a sender that we know is given memory, and
    /// only while there is some. Else the payload is thrown away, and the frame refused when it is over: then this says
    /// false.
    fn admit(&mut self) -> io::Result<bool> {
        let Some((frame, length)) = self.decoder.awaited() else { return Ok(true) };
        let arriving = self.arriving.get_or_insert_with(Arriving::now);
        let checked = if arriving.is_admitted {
            Ok(())
        } else {
            let request = request::to_http(frame, &self.version).map_err(broken)?.http;
            request.and_then(|request| service::check_sender(&self.state, &request))
        };
        let n_bytes = self.incoming.len();
        let admitted = checked.and_then(|()| self.share.grow_to(n_bytes));
        match admitted {
            Ok(()) if arriving.is_admitted => {}
            Ok(()) => {
                arriving.is_admitted = true;
                self.incoming.reserve(length.saturating_sub(n_bytes));
            }
            Err(refusal) => {
                arriving.refusal = Some(refusal);
                drop(self.share.split());
                self.decoder.skip();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins with a request; one that is refused is answered at once.
    async fn start(&mut self, frame: &Frame, refusal: Option<Error>) -> io::Result<()> {
        let DirectRequest { echo, http, may_run_inline } =
            request::to_http(frame, &self.version).map_err(broken)?;
        let mut share = self.share.split();
        let counted = if frame.payload.len() > COUNTED_BYTES_MIN {
            share.grow_to(frame.payload.len())
        } else {
            Ok(())
        };
        let http = match refusal {
            Some(refusal) => Err(refusal),
            None => counted.and(http),
        };
        let request = match http {
            Ok(request) => request,
            Err(error) => {
                let response = service::refuse(&self.state, &error, &echo.activity_text());
                self.put(Answered { echo, response, count: None, n_bytes: 0 });
                return Ok(());
            }
        };
        let n_bytes = frame.payload.len();
        let (state, entry, arrival) =
            (Arc::clone(&self.state), Arc::clone(&self.entry), self.arrival);
        let mut answer = Box::pin(async move {
            let (response, count) = answer(&state, &entry, arrival, request).await;
            drop(share);
            Answered { echo, response, count, n_bytes }
        });
        if may_run_inline {
            let first = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await;
            if let Poll::Ready(answered) = first {
                self.put(answered);
                if self.outgoing.bytes.len() > OUT_BYTES_MAX {
                    self.flush().await?;
                }
                return Ok(());
            }
        }
        self.bytes_under_way += n_bytes;
        self.under_way.spawn(answer);
        Ok(())
    }

    /// Takes what has ended without waiting.
    fn collect_ready(&mut self) {
        while self.outgoing.bytes.len() < OUT_BYTES_MAX {
            match self.under_way.try_join_next() {
                Some(done) => self.finish(done),
                None => break,
            }
        }
    }

    fn finish(&mut self, done: Result<Answered, JoinError>) {
        // A panic is answered with 500 inside; what is left is a task that was cancelled with the runtime.
        let Ok(answered) = done else { return };
        self.bytes_under_way = self.bytes_under_way.saturating_sub(answered.n_bytes);
        self.put(answered);
    }

    fn put(&mut self, answered: Answered) {
        let Answered { echo, response, count, .. } = answered;
        self.counts.extend(count);
        let (parts, body) = response.into_parts();
        let body = body.into_inner().filter(|_| !echo.is_head).unwrap_or_default();
        let outgoing = &mut self.outgoing;
        response::write(&mut outgoing.bytes, &echo, parts.status, &parts.headers, &body);
        outgoing.ends.push(outgoing.bytes.len());
    }

    /// Writes what is ready. The watchdog may end the connection meanwhile: a client that does not read stands still here.
    async fn flush(&mut self) -> io::Result<()> {
        if self.outgoing.ends.is_empty() {
            return Ok(());
        }
        let mut is_ending = false;
        let mut writing = pin!(timeout(WRITE_TIMEOUT, self.outgoing.write_to(&mut self.writer)));
        loop {
            tokio::select! {
                biased;
                written = &mut writing => {
                    written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
                    break;
                }
                verdict = self.entry.ended() => match verdict {
                    Verdict::Now => return Err(io::ErrorKind::ConnectionAborted.into()),
                    Verdict::Gracefully => is_ending = true,
                },
            }
        }
        self.is_reading &= !is_ending;
        self.counts.clear();
        Ok(())
    }
}

impl Outgoing {
    /// Gives back what a long response took.
    fn shrink(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > IDLE_OUT_BYTES_MAX {
            *self = Outgoing::default();
        }
    }

    /// Writes each response by itself: what one write takes never ends inside the record of another.
    async fn write_to(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut start = 0;
        for end in self.ends.drain(..) {
            writer.write_all(&self.bytes[start..end]).await?;
            start = end;
        }
        self.bytes.clear();
        writer.flush().await
    }
}

/// Answers when there is room for it, and counts a long answer until it is written.
async fn answer(
    state: &Arc<State>,
    entry: &Arc<Entry>,
    arrival: Arrival,
    request: Request<Full<Bytes>>,
) -> (Response<Full<Bytes>>, Option<Count>) {
    let _under_way = entry.begin();
    if !entry.unsent.wait_for_room(state.options.limits.request_timeout).await {
        return (service::answer(state, request, arrival, Room::None).await, None);
    }
    let running = Running::new(entry);
    let room = Room::Within(&entry.unsent);
    let response = service::answer(state, request, arrival, room).await;
    let n_bytes = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
    (response, running.answered(n_bytes))
}

/// Bytes that are no frame end the connection: what follows cannot be told apart any more.
fn broken(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Poll},
    };

    use super::*;

    /// Keeps what each write was given. A TLS stream makes records of a write, and never one record of two.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl AsyncWrite for Writes {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.0.push(bytes.to_vec());
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn responses_that_are_ready_together_do_not_share_a_tls_record() -> io::Result<()> {
        let mut outgoing = Outgoing::default();
        let mut writes = Writes::default();
        for response in ["first", "second", "third"] {
            outgoing.bytes.extend_from_slice(response.as_bytes());
            outgoing.ends.push(outgoing.bytes.len());
        }
        outgoing.write_to(&mut writes).await?;
        assert_eq!(writes.0, [&b"first"[..], b"second", b"third"]);
        assert!(outgoing.bytes.is_empty() && outgoing.ends.is_empty());
        Ok(())
    }
}
