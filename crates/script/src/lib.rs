//! Server-side JavaScript: stored procedures, triggers and user-defined functions in a sandbox.
//!
//! The door is [`Runtime`]: [`Runtime::invoke`] runs a procedure or trigger against one transaction, which it
//! sees only through [`Host`]; [`Runtime::with_udfs`] runs a piece of work, a query say, with user-defined
//! functions at hand ([`call_udf`]).
//!
//! Invariants:
//! - A run gets a fresh global, a memory limit, a stack limit and a time limit that a script can neither catch nor
//!   postpone. An engine serves several runs only if none of them can see another. Near the end of its time the
//!   collection accepts no more calls; then it is stopped.
//! - Scripts run on threads of their own, a bounded number of them, from a bounded queue. A script that the engine
//!   cannot stop (a native loop without end) costs one thread, is answered with a timeout and is not run again.
//! - The wall is the native side ([`native`](crate::native)): the JavaScript around it (`prelude/`) is convenience,
//!   and a script that tampers with it harms only itself.
//! - Nothing is committed here. The caller commits the transaction behind the host, or drops it.
//!
//! Deliberately absent: stores, queries, HTTP, files, sockets, timers.

mod bridge;
mod clock;
mod denylist;
mod error;
mod exception;
mod host;
mod inline_check;
mod inline_runner;
mod invocation;
mod json_to_value;
mod limits;
mod link;
mod log;
mod native;
mod native_calls;
mod pool;
mod property_names;
mod run;
mod runtime;
mod sandbox;
mod udf;
mod value;
mod value_to_json;

pub use error::{Error, Failed, Result};
pub use host::{
    AttachmentHost, AttachmentRef, FeedPage, Host, HostError, HostResult, ItemRef, NewItem,
    PageRequest, QueryPage, SharedHost, Usage,
};
pub use invocation::{Answer, InlineOutcome, Invocation, Operation, Role, Script};
pub use limits::Limits;
pub use runtime::Runtime;
pub use udf::call_udf;
