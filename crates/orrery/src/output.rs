//! What commands print.

use std::io::{ErrorKind, Write as _};

use anyhow::{Context as _, Result};

/// Prints an answer. Whoever reads it may have seen enough (`orrery partitions | head`): that is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
    print_while_read(text).map(|_| ())
}

/// Prints a part of an answer, and says whether somebody still reads.
pub(crate) fn print_while_read(text: &str) -> Result<bool> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        done => done.map(|()| true).context("cannot print"),
    }
}

/// Prints an answer of the server as JSON.
pub(crate) fn print_json(answer: &serde_json::Value) -> Result<()> {
    print(&format!("{answer:#}\n"))
}
