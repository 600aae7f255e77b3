//! The client library against the running server: every resolver, every read mode while items move, managers
//! that are killed at every call, and processes that share a state.

mod manager;
mod processes;
mod rekey;
mod resolvers;
mod scripts;
mod transition;
