//! Entry points for fuzz targets and for the smoke test that runs them with `cargo test`: foreign
//! bytes in, no answer, no panic. Not part of the public interface.

use bytes::Bytes;

use crate::{auth, batch_json, parse, paths::Path};

/// The `authorization` header.
pub fn auth_header(bytes: &[u8]) {
    auth::fuzz_header(bytes);
}

/// The path of a request.
pub fn path(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(path) = Path::parse(text) else { return };
    for index in 0..=path.n_segments() {
        assert!(path.text().starts_with(path.prefix(index)), "a prefix starts the text");
        assert!(!path.segment(index).contains('/'), "a segment has no slash");
    }
    let _ = path.target();
}

/// The partition-key header.
pub fn partition_key_header(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(key) = model::PartitionKey::from_header(text) else { return };
    let again = model::PartitionKey::from_header(&key.to_header());
    assert_eq!(again.ok(), Some(key), "a key that was read can be written and read again");
}

/// What a client of direct mode sends.
pub fn rntbd(bytes: &[u8]) {
    crate::rntbd::fuzz(bytes);
}

/// A batch as JSON.
pub fn batch_json(bytes: &[u8]) {
    let _ = batch_json::decode(&Bytes::copy_from_slice(bytes));
}

/// A batch as rows (`HybridRow`).
pub fn hybrid_row(bytes: &[u8]) {
    let bytes = Bytes::copy_from_slice(bytes);
    parse::fuzz_hybrid_row(&bytes);
    let _ = crate::hybrid_row::decode_results(&bytes);
}
