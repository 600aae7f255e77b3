//! What a new connection says first tells what it speaks.
//!
//! A TLS client speaks first with byte 0x16, which no HTTP request starts with. Without TLS, or when
//! TLS did not negotiate a protocol, the HTTP/2 preface tells the version.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
};

/// What the HTTP/2 client sends first.
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The first byte of a TLS handshake.
pub(super) const TLS_HANDSHAKE: u8 = 0x16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
    /// The binary protocol of direct mode.
    Rntbd,
}

pub(super) async fn first_byte(stream: &TcpStream) -> io::Result<u8> {
    let mut byte = [0; 1];
    match stream.peek(&mut byte).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(byte[0]),
    }
}

/// The bytes read while looking at the preface.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    pub(super) bytes: [u8; PREFACE.len()],
    pub(super) length: usize,
}

/// The same inside of TLS, where direct mode is spoken too. Its first word is a length below 16 MiB, so its fourth byte
/// is zero, which is in no HTTP request.
pub(super) async fn sniff_in_tls<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> io::Result<(Version, Greeting)> {
    const WORD_BYTES: usize = 4;
    let mut greeting = Greeting::default();
    while greeting.length < WORD_BYTES {
        let (_, free) = greeting.bytes.split_at_mut(greeting.length);
        match stream.read(free).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => greeting.length += n,
        }
    }
    if greeting.bytes[WORD_BYTES - 1] == 0 {
        return Ok((Version::Rntbd, greeting));
    }
    sniff(stream, greeting).await
}

/// Reads no further than it takes to tell the versions apart.
pub(super) async fn sniff<S: AsyncRead + Unpin>(
    stream: &mut S,
    mut greeting: Greeting,
) -> io::Result<(Version, Greeting)> {
    loop {
        let (read, free) = greeting.bytes.split_at_mut(greeting.length);
        if !PREFACE.starts_with(read) {
            return Ok((Version::Http1, greeting));
        }
        if free.is_empty() {
            return Ok((Version::Http2, greeting));
        }
        match stream.read(free).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => greeting.length += n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sniffed(mut bytes: &[u8]) -> Option<(Version, usize)> {
        sniff(&mut bytes, Greeting::default())
            .await
            .ok()
            .map(|(version, greeting)| (version, greeting.length))
    }

    #[tokio::test]
    async fn the_preface_tells_the_version() {
        assert_eq!(sniffed(PREFACE).await, Some((Version::Http2, 24)));
        let frames = [PREFACE, &b"more frames"[..]].concat();
        assert_eq!(sniffed(&frames).await, Some((Version::Http2, 24)));
        for line in ["GET / HTTP/1.1\r\n\r\n", "POST", "PRI / HTTP/1.1\r\n", "\r\n", "PUT / "] {
            assert!(matches!(sniffed(line.as_bytes()).await, Some((Version::Http1, _))), "{line}");
        }
        for cut in [&b""[..], b"P", &PREFACE[..23]] {
            assert_eq!(sniffed(cut).await, None);
        }
    }
}
