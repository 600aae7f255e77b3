//! `--emulator`: the conventions of the official emulators' containers, so that pipelines need no change.
//!
//! Test frameworks start an image with a set of environment variables, wait for a line of its log or a page, and read
//! a certificate from a fixed place. What each of them does is listed in `docs/emulator.md`.

mod arguments;
mod certificate_copy;
mod log_lines;
mod mounts;
mod variables;

pub(crate) use arguments::EmulatorArguments;
pub(crate) use certificate_copy::CertificateCopy;
pub(crate) use log_lines::write as write_log_lines;
pub(crate) use variables::{EXPLORER_PORT, HEALTH_PORT, adopt};
