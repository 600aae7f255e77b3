//! Receiving a request body: bounded in size and time.

use std::{pin::pin, sync::Arc};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::{
    body_budget::{BodyBudget, BodyShare, COUNTED_BYTES_MIN, STALL_MAX_UNDER_PRESSURE},
    error::Error,
    options::Limits,
    service::within,
};

/// Limit: how much of a body that is too large we still read and throw away, so that a client which
/// sends first and reads later sees our answer instead of a broken connection.
const DRAIN_BYTES_MAX: usize = 16 << 20;

/// Reads the whole body. A body in one piece is not copied.
///
/// What is read counts for the budget until the share is dropped; that of a frame was counted when it came.
pub(crate) async fn read<B>(
    mut body: B,
    bytes_max: usize,
    limits: &Limits,
    budget: Option<&Arc<BodyBudget>>,
) -> Result<(Bytes, Option<BodyShare>), Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok((Bytes::new(), None));
    }
    let mut share = budget.map(BodyShare::none);
    let received = {
        let receiving = pin!(receive(&mut body, bytes_max, &mut share));
        within(limits.body_timeout, receiving).await
    };
    Ok((received.unwrap_or(Err(Error::BodyTimeout))?, share))
}

async fn receive<B>(
    body: &mut B,
    bytes_max: usize,
    share: &mut Option<BodyShare>,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let too_large = Error::BodyTooLarge { bytes_max };
    let declared = body.size_hint().upper().and_then(|n| usize::try_from(n).ok());
    if declared.is_some_and(|declared| declared > bytes_max) {
        drain(body).await;
        return Err(too_large);
    }
    let Some(first) = next_in_time(body, share.as_ref()).await? else { return Ok(Bytes::new()) };
    if first.len() > COUNTED_BYTES_MIN {
        grow(share, first.len())?;
    }
    let Some(second) = next_in_time(body, share.as_ref()).await? else {
        return if first.len() > bytes_max { Err(too_large) } else { Ok(first) };
    };
    let mut whole = BytesMut::with_capacity(declared.unwrap_or(first.len() + second.len()));
    grow(share, first.len() + second.len())?;
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while whole.len() <= bytes_max {
        let Some(piece) = next_in_time(body, share.as_ref()).await? else {
            return Ok(whole.freeze());
        };
        grow(share, whole.len() + piece.len())?;
        whole.extend_from_slice(&piece);
    }
    drop(whole);
    drain(body).await;
    Err(too_large)
}

fn grow(share: &mut Option<BodyShare>, n_bytes: usize) -> Result<(), Error> {
    share.as_mut().map_or(Ok(()), |share| share.grow_to(n_bytes))
}

/// The next piece of data. While there is little room for bodies, it is waited for only a short time.
async fn next_in_time<B>(body: &mut B, share: Option<&BodyShare>) -> Result<Option<Bytes>, Error>
where
    B: Body<Data = Bytes> + Unpin,
{
    let Some(share) = share else { return next(body).await };
    let mut next = pin!(next(body));
    loop {
        match within(STALL_MAX_UNDER_PRESSURE, next.as_mut()).await {
            Some(piece) => return piece,
            None if share.budget().is_pressed() => return Err(Error::BodyTimeout),
            None => {}
        }
    }
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
            let (body, _) = read(pieces(sizes, true), 10, &limits(), None).await.unwrap();
            assert_eq!(body.len(), sizes.iter().sum::<usize>());
        }
    }

    #[tokio::test]
    async fn larger_bodies_are_refused_however_they_are_cut() {
        for sizes in [&[11][..], &[10, 1], &[5, 5, 1], &[1; 11], &[6, 6, 100_000_000]] {
            let result = read(pieces(sizes, true), 10, &limits(), None).await;
            assert!(matches!(result, Err(Error::BodyTooLarge { bytes_max: 10 })), "{sizes:?}");
        }
    }

    #[tokio::test]
    async fn a_body_that_never_ends_times_out() {
        let result = read(pieces(&[1, 1], false), 10, &limits(), None).await;
        assert!(matches!(result, Err(Error::BodyTimeout)));
    }

    #[tokio::test]
    async fn bodies_share_a_budget_until_they_are_answered() {
        const KIB: usize = 1 << 10;
        let budget = Arc::new(BodyBudget::new(20 * KIB));
        let read = |sizes: &[usize], ends| {
            let (pieces, budget) = (pieces(sizes, ends), Arc::clone(&budget));
            async move { read(pieces, 100 * KIB, &limits(), Some(&budget)).await }
        };
        let (first, share) = read(&[5 * KIB, 5 * KIB], true).await.unwrap();
        assert_eq!(budget.bytes(), first.len());
        let short = read(&[KIB], true).await.unwrap();
        assert_eq!(budget.bytes(), first.len(), "one short piece is not counted");
        for sizes in [&[11 * KIB][..], &[KIB; 11]] {
            assert!(matches!(read(sizes, true).await, Err(Error::BodiesHeld)));
        }
        assert_eq!(budget.bytes(), first.len(), "what was refused is free");
        assert!(matches!(read(&[5 * KIB], false).await, Err(Error::BodyTimeout)));
        drop((share, short));
        assert_eq!(budget.bytes(), 0);
    }

    #[tokio::test]
    async fn while_little_room_is_left_a_body_that_stalls_is_given_up_soon() {
        let budget = Arc::new(BodyBudget::new(10_000));
        let mut others = BodyShare::none(&budget);
        others.grow_to(7_500).unwrap();
        let limits = Limits::default();
        let reading = read(pieces(&[1, 1], false), 10, &limits, Some(&budget));
        let soon = STALL_MAX_UNDER_PRESSURE * 5;
        let result = tokio::time::timeout(soon, reading).await.expect("it is given up");
        assert!(matches!(result, Err(Error::BodyTimeout)));
    }
}
