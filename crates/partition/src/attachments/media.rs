//! Media in pieces: a value of the store stays small whatever a client uploads.

use bytes::Bytes;

use crate::{Error, Result};

// Limit: media of one attachment. It is written in one commit, and a store batch has 64 MiB.
pub const MEDIA_BYTES_MAX: usize = 32 << 20;

// Limit: bytes of one piece.
const CHUNK_BYTES: usize = 64 << 10;

/// The first byte of every piece: the version of its format.
const FORMAT: u8 = 1;

/// Cuts media into the values to store, with their places.
pub(crate) fn chunks(media: &Bytes) -> impl Iterator<Item = (u32, Bytes)> + '_ {
    (0..).zip(media.chunks(CHUNK_BYTES)).map(|(index, piece)| {
        let mut value = Vec::with_capacity(1 + piece.len());
        value.push(FORMAT);
        value.extend_from_slice(piece);
        (index, value.into())
    })
}

/// How many pieces media of some length has.
pub(crate) fn chunk_count(media_bytes: u64) -> u32 {
    u32::try_from(media_bytes.div_ceil(CHUNK_BYTES as u64)).unwrap_or(u32::MAX)
}

/// The bytes of a stored piece.
pub(crate) fn decode_chunk(value: &[u8]) -> Result<&[u8]> {
    match value.split_first() {
        Some((&FORMAT, piece)) => Ok(piece),
        _ => Err(Error::Corrupt("a piece of media has an unknown format")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_comes_back_from_its_pieces() {
        for n_bytes in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
            let media = Bytes::from((0..=250).cycle().take(n_bytes).collect::<Vec<u8>>());
            let pieces: Vec<_> = chunks(&media).collect();
            assert_eq!(pieces.len(), chunk_count(n_bytes as u64) as usize);
            let whole: Vec<u8> = pieces
                .iter()
                .flat_map(|(_, piece)| decode_chunk(piece).unwrap().to_vec())
                .collect();
            assert_eq!(whole, media);
        }
        assert!(decode_chunk(&[]).is_err());
        assert!(decode_chunk(&[9, 1]).is_err());
    }
}
