//! A stream that lingers before it is closed, if somebody may still be sending.
//!
//! A socket that is closed with bytes of the client unread is reset, and the reset may overtake the answer. So the stream
//! says that it sends no more, goes on reading what nobody wants, and is closed when the client has read the answer and
//! closes too.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// Limit: what a client may send that nobody reads before its connection is cut.
const UNREAD_BYTES_MAX: usize = 256 << 20;

/// Limit: how long it may take for it.
const LINGER_TIME: Duration = Duration::from_secs(30);

/// Says whether an answer left a part of its request unread.
#[derive(Debug, Clone, Default)]
pub(super) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `stream`, which lingers when it is shut down after `unread` was set.
#[derive(Debug)]
pub(super) struct Lingering<S> {
    stream: S,
    unread: Unread,
    drain: Option<Drain>,
}

/// What the client still sends, read and dropped.
#[derive(Debug)]
struct Drain {
    end: Pin<Box<Sleep>>,
    n_bytes: usize,
}

impl<S> Lingering<S> {
    pub(super) fn new(stream: S, unread: Unread) -> Lingering<S> {
        Lingering { stream, unread, drain: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.drain.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            if !this.unread.is_set() {
                return Poll::Ready(Ok(()));
            }
        }
        let end = || Drain { end: Box::pin(tokio::time::sleep(LINGER_TIME)), n_bytes: 0 };
        this.drain.get_or_insert_with(end).poll(&mut this.stream, context)
    }
}

impl Drain {
    /// Reads until the client closes, or the limits are reached.
    fn poll(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut room = [0; 16 << 10];
        // Limit: pieces at once, so that others have their turn too.
        for _ in 0..64 {
            let mut buffer = ReadBuf::new(&mut room);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => self.n_bytes += buffer.filled().len(),
                // Whatever is wrong with it, it is over.
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(())),
                Poll::Pending => return self.end.as_mut().poll(context).map(Ok),
            }
            if self.n_bytes > UNREAD_BYTES_MAX {
                return Poll::Ready(Ok(()));
            }
        }
        context.waker().wake_by_ref();
        self.end.as_mut().poll(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn who_has_more_to_say_is_heard_to_the_end() {
        let (mut client, server) = duplex(1024);
        let unread = Unread::default();
        unread.set();
        let mut server = Lingering::new(server, unread);
        server.write_all(b"answer").await.unwrap();
        let closing = tokio::spawn(async move { server.shutdown().await });
        client.write_all(&vec![b'x'; 100_000]).await.unwrap();
        assert!(!closing.is_finished(), "it waits for the client to close");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "answer");
        drop(client);
        closing.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn others_are_closed_at_once() {
        let (_client, server) = duplex(1024);
        Lingering::new(server, Unread::default()).shutdown().await.unwrap();
    }
}
