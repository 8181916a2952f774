//! The client's side of the contract for Rust programs: commands arrive on stdin, events go to stdout.
//!
//! A program supplies an [`Adapter`], and [`run`] does the rest. It needs the standard library, `serde_json` for the
//! lines and `libc` for what the standard library lacks: the system's monotonic clock, signals, a second stdout.

mod adapter;
mod clock;
mod commands;
mod output;
mod program;
mod result;
mod signals;

pub use adapter::{About, Adapter, ConfigRefused, Settings};
pub use program::run;
pub use result::RecordResult;
