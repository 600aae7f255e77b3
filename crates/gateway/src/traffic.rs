//! What an observer outside of the protocol is told: sockets that are opened, requests that begin and end.
//!
//! The binary polls for the next request before a thread parks (`orrery/src/busy_poll.rs`). The protocol knows nothing of that; it only
//! tells when.

use std::fmt::Debug;

use tokio::net::{TcpListener, TcpStream};

/// Told about sockets and requests. Every call is on the path of a request, so none may block.
pub trait TrafficObserver: Debug + Send + Sync {
    /// New connections come from `listener`.
    fn listens(&self, listener: &TcpListener);

    /// A connection is open. What this returns is given back when it is closed.
    fn opened(&self, stream: &TcpStream) -> bool;

    /// A connection is closed, of which `opened` returned `token`.
    fn closed(&self, token: bool);

    /// A request begins; returns its number.
    fn began(&self) -> u64;

    /// The request with this number ends on the calling thread, answered or not.
    fn ended(&self, number: u64);
}

/// A connection while it is open.
pub(crate) struct Open<'o> {
    observer: &'o dyn TrafficObserver,
    token: bool,
}

/// A request in flight.
pub(crate) struct InFlight<'o> {
    observer: &'o dyn TrafficObserver,
    number: u64,
}

impl<'o> Open<'o> {
    pub(crate) fn new(observer: &'o dyn TrafficObserver, stream: &TcpStream) -> Open<'o> {
        Open { observer, token: observer.opened(stream) }
    }
}

impl<'o> InFlight<'o> {
    pub(crate) fn new(observer: &'o dyn TrafficObserver) -> InFlight<'o> {
        InFlight { observer, number: observer.began() }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.observer.closed(self.token);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.observer.ended(self.number);
    }
}
