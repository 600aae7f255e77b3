//! A small HTTP/1.1 client with signed requests, for the crash harness and the benchmark.
//!
//! Deliberately absent: retries, redirects, TLS, chunked bodies. A load generator must cost as little as
//! possible, and a crash harness must see every broken answer as it is.

mod connection;
mod request;

pub(crate) use connection::{Connection, Response, answer_length};
pub(crate) use request::{Account, Request};
