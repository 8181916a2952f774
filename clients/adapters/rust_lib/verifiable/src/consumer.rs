//! What a program supplies for a client that consumes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{json, Map, Value};

use crate::application::{Application, CommitResult};
use crate::{ConfigRefused, Settings};

/// The special offsets of a seek, as in `ListOffsets`. As the offset of an assigned partition, `LATEST` means none.
pub const LATEST: i64 = -1;
pub const EARLIEST: i64 = -2;

/// A partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub topic: String,
    pub partition: i32,
}

/// An offset in a partition. That of a commit is the next one to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub place: Place,
    pub offset: i64,
}

/// A record that the client has delivered. The leader epoch is None if the client does not report it.
pub struct Record<'a> {
    pub topic: &'a str,
    pub partition: i32,
    pub offset: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub leader_epoch: Option<i32>,
}

/// Why a call did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The client cannot do this.
    Unsupported,
    /// The client's own error, which the application survives.
    Error(ClientError),
}

/// An error under the client's own name. `retriable` is None if the client does not say whether it is.
#[derive(Clone, Debug)]
pub struct ClientError {
    pub name: String,
    pub message: String,
    pub retriable: Option<bool>,
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        Failure::Error(error)
    }
}

/// The result of a call of the client.
pub type Done = Result<(), Failure>;

/// The consumer of a client. One thread, the application's, makes all calls except `wakeup`.
///
/// Methods without a body are those that every consumer has. An adapter that implements another one declares its
/// feature: "assign", "seek", "pause", "wakeup". It declares "pattern" if a subscription can be one, and "attempt" if
/// `assign` and `poll` reach the client as they are, in any state. The client's callbacks may run on any thread while a
/// call of the application is in progress, so no method may wait for another one.
pub trait ConsumerAdapter: Send + Sync {
    /// Build the consumer from settings in the Java names, and from others under its own names.
    ///
    /// The application receives what the client delivers, and each call of the rebalance listener.
    fn configure(
        config: &Map<String, Value>,
        own: &BTreeMap<String, String>,
        application: Application,
    ) -> Result<(Self, Settings), ConfigRefused>
    where
        Self: Sized;

    /// Subscribe to topics, or to those that match the pattern, if there is one.
    fn subscribe(&self, topics: &[String], pattern: Option<&str>) -> Done;

    /// Give up subscription and assignment.
    fn unsubscribe(&self) -> Done;

    /// Hand over records with [`Application::take`], or none after `timeout`. They are worked on even with an error.
    fn poll(&self, timeout: Duration) -> Done;

    /// Commit, and wait for the result.
    fn commit(&self, offsets: &[Position]) -> Done;

    /// Close the consumer within `timeout`. True if that was possible.
    fn close(&self, timeout: Duration) -> bool;

    /// Assign partitions without a group. One with another offset than `LATEST` is read from there.
    fn assign(&self, _positions: &[Position]) -> Done {
        Err(Failure::Unsupported)
    }

    fn seek(&self, _position: &Position) -> Done {
        Err(Failure::Unsupported)
    }

    fn pause(&self, _places: &[Place]) -> Done {
        Err(Failure::Unsupported)
    }

    fn resume(&self, _places: &[Place]) -> Done {
        Err(Failure::Unsupported)
    }

    /// Interrupt the poll in progress or the next one, which returns an error. Called from another thread.
    fn wakeup(&self) -> Done {
        Err(Failure::Unsupported)
    }

    /// Commit, and give the result later, on any thread. After an error of this call there is none.
    fn commit_async(&self, _offsets: &[Position], _result: CommitResult) -> Done {
        Err(Failure::Unsupported)
    }

    /// Whether `commit_async` commits, and reports the result.
    fn commits_async(&self) -> bool {
        false
    }

    /// The callbacks of the listener ("assigned", "revoked", "lost") whose error the client receives.
    fn throws(&self) -> &[&str] {
        &[]
    }
}

/// The partitions in the contract's format.
pub(crate) fn places(places: &[Place]) -> Value {
    let row = |at: &Place| json!({"topic": at.topic, "partition": at.partition});
    places.iter().map(row).collect()
}

/// The positions in the contract's format.
pub(crate) fn positions(positions: &[Position]) -> Value {
    let row = |at: &Position| json!({"topic": at.place.topic, "partition": at.place.partition, "offset": at.offset});
    positions.iter().map(row).collect()
}
