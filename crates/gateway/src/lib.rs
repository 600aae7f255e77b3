//! The protocol edge: HTTP in front of an account.
//!
//! Door: [`app`] makes a [`Gateway`] from an account and options; [`Gateway::serve`] answers requests.
//! A request passes `paths` (what is named), `auth/` (who asks), `headers/` and `parse/` (what is asked),
//! [`account::Account::execute`], and `respond` or `error` (what the wire gets back).
//!
//! Invariants:
//! - Every request gets exactly one answer; every answer ≥ 400 has a JSON body, made in `error.rs`.
//! - A known header, route or option that is not supported is refused, never ignored.
//! - No body is read before the principal is known, and none beyond a named limit.
//!
//! Deliberately absent: any rule about data, stores, partitions. The gateway sees only the account.

mod account_document;
mod addresses;
mod answers;
mod auth;
mod batch_json;
mod body;
mod body_budget;
pub mod certificate;
mod cors;
mod detach_on_drop;
mod error;
mod explorer;
#[doc(hidden)]
pub mod fuzz;
mod gateway;
mod gzip;
mod headers;
pub mod hybrid_row;
mod json_scan;
mod manage;
mod media_budget;
mod metrics;
mod options;
mod origin;
mod parse;
mod paths;
mod respond;
mod rntbd;
mod server;
mod service;
mod traffic;

pub use self::{
    answers::answer_table,
    auth::{KeyError, Keys, WELL_KNOWN_KEY},
    explorer::Explorer,
    gateway::{Gateway, app},
    headers::{HeaderFact, Treatment, header_table},
    options::{Cors, DateWindow, GatewayOptions, Limits},
    traffic::TrafficObserver,
};
