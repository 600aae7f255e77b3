//! Entry points for fuzz targets and for the smoke test that runs them with `cargo test`: foreign
//! bytes in, no answer, no panic. Not part of the public interface.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

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

/// Frames of HTTP/2 on a connection to a gateway that listens there. Returns once the server has closed it, or has been
/// silent for a second.
pub fn http2(address: SocketAddr, frames: &[u8]) {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let Ok(mut stream) = TcpStream::connect(address) else { return };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    if stream.write_all(&[PREFACE, frames].concat()).is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = [0; 4096];
        while stream.read(&mut answer).is_ok_and(|n_bytes| n_bytes > 0) {}
    }
}
