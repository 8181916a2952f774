//! The client's side of the contract for Rust programs: commands arrive on stdin, events go to stdout.
//!
//! A program supplies an [`Adapter`], and [`run`] does the rest. If its client consumes, it also supplies a
//! [`ConsumerAdapter`], for [`run_with_consumer`]. It needs the standard library, `serde_json` for the
//! lines and `libc` for what the standard library lacks: the system's monotonic clock, signals, a second stdout.

mod adapter;
mod application;
mod calls;
mod clock;
mod closing;
mod commands;
mod consumer;
mod member;
mod output;
mod program;
mod result;
mod signals;
mod taken;

pub use adapter::{About, Adapter, ConfigRefused, Settings};
pub use application::{Application, CommitResult};
pub use consumer::{
    ClientError, ConsumerAdapter, Done, Failure, Place, Position, Record, EARLIEST, LATEST,
};
pub use program::{run, run_with_consumer};
pub use result::RecordResult;
