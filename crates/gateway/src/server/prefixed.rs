//! A stream of which some bytes have been read already: they are read again first.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// `stream` with the unread part of `bytes[..length]` in front.
#[derive(Debug)]
pub(super) struct Prefixed<S, const N: usize> {
    bytes: [u8; N],
    start: usize,
    length: usize,
    stream: S,
}

impl<S, const N: usize> Prefixed<S, N> {
    pub(super) fn new(bytes: [u8; N], length: usize, stream: S) -> Self {
        Prefixed { bytes, start: 0, length: length.min(N), stream }
    }
}

impl<S: AsyncRead + Unpin, const N: usize> AsyncRead for Prefixed<S, N> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match this.bytes.get(this.start..this.length) {
            Some(rest) if !rest.is_empty() => {
                let n = rest.len().min(buffer.remaining());
                buffer.put_slice(rest.get(..n).unwrap_or_default());
                this.start += n;
                Poll::Ready(Ok(()))
            }
            Some(_) | None => Pin::new(&mut this.stream).poll_read(context, buffer),
        }
    }
}

impl<S: AsyncWrite + Unpin, const N: usize> AsyncWrite for Prefixed<S, N> {
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
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_was_read_is_read_again() {
        for length in 0..=4 {
            let mut stream = Prefixed::new(*b"abcd", length, &b"efgh"[..]);
            let mut text = String::new();
            let mut two = [0; 2];
            let n = stream.read(&mut two).await.unwrap();
            text.push_str(std::str::from_utf8(&two[..n]).unwrap());
            stream.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, format!("{}efgh", &"abcd"[..length]));
        }
    }
}
