//! Receiving a request body: bounded in size and time.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::{error::Error, options::Limits, service::within};

/// Limit: how much of a body that is too large we still read and throw away, so that a client which
/// sends first and reads later sees our answer instead of a broken connection.
const DRAIN_BYTES_MAX: usize = 16 << 20;

/// Reads the whole body. A body in one piece is not copied.
pub(crate) async fn read<B>(mut body: B, bytes_max: usize, limits: &Limits) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let received = pin!(receive(&mut body, bytes_max));
    within(limits.body_timeout, received).await.unwrap_or(Err(Error::BodyTimeout))
}

async fn receive<B>(body: &mut B, bytes_max: usize) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = Error::BodyTooLarge { bytes_max };
    let declared = body.size_hint().upper().and_then(|n| usize::try_from(n).ok());
    if declared.is_some_and(|declared| declared > bytes_max) {
        drain(body).await;
        return Err(too_large);
    }
    let Some(first) = next(body).await? else { return Ok(Bytes::new()) };
    let Some(second) = next(body).await? else {
        return if first.len() > bytes_max { Err(too_large) } else { Ok(first) };
    };
    let mut whole = BytesMut::with_capacity(declared.unwrap_or(first.len() + second.len()));
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    while whole.len() <= bytes_max {
        match next(body).await? {
            Some(piece) => whole.extend_from_slice(&piece),
            None => return Ok(whole.freeze()),
        }
    }
    drop(whole);
    drain(body).await;
    Err(too_large)
}

/// The next piece of data; trailers are of no use to us.
async fn next<B>(body: &mut B) -> Result<Option<Bytes>, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Error::BodyBroken)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

async fn drain<B>(body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut n_bytes = 0;
    while let Ok(Some(piece)) = next(body).await {
        n_bytes += piece.len();
        if n_bytes > DRAIN_BYTES_MAX {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
        time::Duration,
    };

    use hyper::body::Frame;

    use super::*;

    /// A body in pieces; without an end it waits for ever.
    struct Pieces {
        pieces: VecDeque<Bytes>,
        ends: bool,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.pieces.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece)))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    fn pieces(sizes: &[usize], ends: bool) -> Pieces {
        let pieces = sizes.iter().map(|size| Bytes::from(vec![b'x'; *size])).collect();
        Pieces { pieces, ends }
    }

    fn limits() -> Limits {
        Limits { body_timeout: Duration::from_millis(20), ..Limits::default() }
    }

    #[tokio::test]
    async fn bodies_up_to_the_limit_are_read() {
        for sizes in [&[][..], &[0], &[10], &[3, 7], &[1, 2, 3, 4]] {
            let body = read(pieces(sizes, true), 10, &limits()).await.unwrap();
            assert_eq!(body.len(), sizes.iter().sum::<usize>());
        }
    }

    #[tokio::test]
    async fn larger_bodies_are_refused_however_they_are_cut() {
        for sizes in [&[11][..], &[10, 1], &[5, 5, 1], &[1; 11], &[6, 6, 100_000_000]] {
            let result = read(pieces(sizes, true), 10, &limits()).await;
            assert!(matches!(result, Err(Error::BodyTooLarge { bytes_max: 10 })), "{sizes:?}");
        }
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let result = read(pieces(&[1, 1], false), 10, &limits()).await;
        assert!(matches!(result, Err(Error::BodyTimeout)));
    }
}
