//! The lines that wait strategies look for.

use std::io::{Result, Write};
use std::net::SocketAddr;

/// Writes them. They come when requests are answered, as the official ones do.
pub(crate) fn write(out: &mut impl Write, is_https: bool, address: SocketAddr) -> Result<()> {
    let scheme = if is_https { "https" } else { "http" };
    // Testcontainers for Node.js.
    writeln!(out, "Now listening on: {scheme}://{address}")?;
    // Scripts for the vNext image.
    writeln!(out, "System is now fully ready to accept requests")?;
    // Testcontainers for .NET, Go, Python; that for Java wants the carriage return of the classic image.
    write!(out, "Started\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_ends_as_that_of_the_classic_image() {
        let mut out = Vec::new();
        write(&mut out, true, "0.0.0.0:8081".parse().unwrap()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("Now listening on: https://0.0.0.0:8081\n"), "{text}");
        assert!(text.ends_with("\nStarted\r\n"), "{text}");
    }
}
