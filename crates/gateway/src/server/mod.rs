//! Sockets: one port for TLS and plain HTTP, HTTP/1.1, HTTP/2 and direct mode.
//!
//! Invariants: a connection has one entry in the [table](connection_table) from accept to close, so their number is
//! bounded; every step before the first request has a deadline; what clients do not read is bounded in bytes and time;
//! shutdown waits for requests, not for idle clients.

mod connection;
mod connection_table;
mod direct;
mod greeting;
mod lingering;
mod listen;
mod metered;
mod prefixed;
mod repoll;
mod unread;
pub(crate) mod unsent;
mod watchdog;

pub(crate) use self::listen::serve;
