//! Replaceable hash functions.

use std::fmt::Debug;

use md5::Digest as _;

use super::murmur::murmur3_x86_32;

/// A hash function of a ring. It must give the same result on every platform and in every version.
pub trait HashGenerator: Debug + Send + Sync {
    /// Returns the name under which states refer to this function.
    fn name(&self) -> &str;

    /// Returns the place of some bytes on the ring.
    fn hash(&self, bytes: &[u8]) -> u128;

    /// Returns the point that follows another of the same container: the hash of its bytes.
    fn next(&self, point: u128) -> u128 {
        self.hash(&point.to_be_bytes())
    }
}

/// MD5, the default; 16 bytes, the first most significant. For spreading, not for security.
#[derive(Clone, Copy, Debug, Default)]
pub struct Md5;

impl HashGenerator for Md5 {
    fn name(&self) -> &'static str {
        "md5"
    }

    fn hash(&self, bytes: &[u8]) -> u128 {
        u128::from_be_bytes(md5::Md5::digest(bytes).into())
    }
}

/// `MurmurHash3` x86 32 bit with seed 0, as in the Node, Python and Java SDKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Murmur3;

impl HashGenerator for Murmur3 {
    fn name(&self) -> &'static str {
        "murmur3-x86-32"
    }

    fn hash(&self, bytes: &[u8]) -> u128 {
        murmur3_x86_32(bytes).into()
    }

    fn next(&self, point: u128) -> u128 {
        #[expect(clippy::cast_possible_truncation, reason = "a point of this hash has 32 bits")]
        let point = point as u32;
        murmur3_x86_32(&point.to_le_bytes()).into()
    }
}

/// XXH64 with seed 0: the fastest of the three.
#[derive(Clone, Copy, Debug, Default)]
pub struct XxHash;

impl HashGenerator for XxHash {
    fn name(&self) -> &'static str {
        "xxh64"
    }

    fn hash(&self, bytes: &[u8]) -> u128 {
        xxhash_rust::xxh64::xxh64(bytes, 0).into()
    }
}
