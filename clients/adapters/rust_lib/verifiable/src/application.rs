//! The application of one consumer: what it took and processed, its commits, and its rebalance listener.
//!
//! The poll loop calls it, and so do the client's callbacks, in the middle of a poll or on other threads. Therefore no
//! lock is held during a call of the client.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{json, Value};

use crate::calls::{How, Mode};
use crate::clock::monotonic_ns;
use crate::closing::Closing;
use crate::consumer::{places, positions};
use crate::consumer::{ClientError, ConsumerAdapter, Done, Failure, Place, Position, Record};
use crate::output::{locked, Output};
use crate::taken::Taken;

/// The application, for the client that hands it records and calls its listener.
#[derive(Clone)]
pub struct Application(Arc<Inner>);

struct Inner {
    output: Arc<Output>,
    closing: Arc<Closing>,
    consumer: OnceLock<Box<dyn ConsumerAdapter>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: Taken,
    /// The next offset of each partition of which records were processed.
    processed: BTreeMap<Place, i64>,
    mode: Mode,
    processing: Duration,
    /// How often each callback is still to fail.
    failing: BTreeMap<String, u64>,
}

impl Application {
    pub(crate) fn new(output: &Arc<Output>, closing: &Arc<Closing>) -> Application {
        Application(Arc::new(Inner {
            output: Arc::clone(output),
            closing: Arc::clone(closing),
            consumer: OnceLock::new(),
            state: Mutex::default(),
        }))
    }

    /// Take a record, which the client delivers in the poll in progress.
    pub fn take(&self, record: &Record<'_>) {
        locked(&self.0.state).taken.add(record);
    }

    /// How many records the poll in progress has delivered.
    pub fn taken(&self) -> usize {
        locked(&self.0.state).taken.count()
    }

    /// Work on what the poll in progress has delivered so far. A client calls it, on the thread of the poll, before a
    /// callback that runs in the middle of the poll.
    pub fn work_first(&self) {
        self.work();
    }

    /// The listener's `onPartitionsAssigned`. The generation is None, and the member id empty, if they are unknown. As
    /// for the other two, an error is what the application throws, as it was told to.
    pub fn assigned(
        &self,
        partitions: &[Place],
        generation: Option<i32>,
        member_id: &str,
    ) -> Result<(), String> {
        self.forget(partitions);
        let fields = json!({
            "partitions": places(partitions),
            "generation": generation.unwrap_or(-1),
            "member_id": member_id,
        });
        self.called("assigned", fields)
    }

    /// The listener's `onPartitionsRevoked`: the partitions that the member gives up.
    pub fn revoked(&self, partitions: &[Place]) -> Result<(), String> {
        self.forget(partitions);
        self.called("revoked", json!({"partitions": places(partitions)}))
    }

    /// The listener's `onPartitionsLost`: the partitions that the member has already lost.
    pub fn lost(&self, partitions: &[Place]) -> Result<(), String> {
        self.forget(partitions);
        self.called("lost", json!({"partitions": places(partitions)}))
    }

    /// Report an automatic commit of the client, with the error's name if it failed.
    pub fn committed(&self, offsets: &[Position], error: Option<&str>) {
        let now_ns = monotonic_ns();
        let fields = commit_fields(offsets, "auto", (now_ns, now_ns), error);
        self.0.output.event("offsets_committed", fields);
    }

    pub(crate) fn uses(&self, consumer: Box<dyn ConsumerAdapter>) {
        let is_first = self.0.consumer.set(consumer).is_ok();
        assert!(is_first, "an application has one consumer");
    }

    pub(crate) fn consumer(&self) -> &dyn ConsumerAdapter {
        let consumer = self.0.consumer.get();
        &**consumer.expect("the client delivers nothing while it is built")
    }

    pub(crate) fn begin(&self, mode: Mode, processing: Duration) {
        let mut state = locked(&self.0.state);
        (state.mode, state.processing) = (mode, processing);
    }

    pub(crate) fn process_for(&self, processing: Duration) {
        locked(&self.0.state).processing = processing;
    }

    pub(crate) fn fail_in(&self, callback: &str, times: u64) {
        locked(&self.0.state)
            .failing
            .insert(callback.to_owned(), times);
    }

    /// Work on what was taken. Return the first positions of those records that were not processed, because they could
    /// not be committed first.
    pub(crate) fn work(&self) -> Vec<Position> {
        let (taken, mode, processing) = {
            let mut state = locked(&self.0.state);
            let taken = mem::take(&mut state.taken);
            (taken, state.mode, state.processing)
        };
        if taken.count() == 0 {
            return Vec::new();
        }
        let polled_ns = monotonic_ns();
        let after = taken.after();
        if mode == Mode::First && self.commit(How::Sync, &after).is_err() {
            return taken.first();
        }
        self.0.closing.wait(processing);
        self.0
            .output
            .event("records_consumed", taken.told(polled_ns));
        let done = after.iter().map(|at| (at.place.clone(), at.offset));
        locked(&self.0.state).processed.extend(done);
        if let Mode::After(how) = mode {
            let _ = self.commit(how, &after); // an error is reported
        }
        Vec::new()
    }

    /// Commit everything that was processed.
    pub(crate) fn commit_processed(&self, how: How) -> Done {
        let offsets: Vec<_> = locked(&self.0.state)
            .processed
            .iter()
            .map(|(place, offset)| Position {
                place: place.clone(),
                offset: *offset,
            })
            .collect();
        if offsets.is_empty() {
            return Ok(());
        }
        self.commit(how, &offsets)
    }

    /// Nothing is left to commit of partitions that were given up, or whose position was set.
    pub(crate) fn forget(&self, partitions: &[Place]) {
        let mut state = locked(&self.0.state);
        state
            .processed
            .retain(|place, _| !partitions.contains(place));
    }

    pub(crate) fn forget_all(&self) {
        locked(&self.0.state).processed.clear();
    }

    /// Report an error that the application survives.
    pub(crate) fn survived(&self, call: &str, error: &ClientError) {
        let fields = json!({
            "call": call,
            "error": error.name,
            "message": error.message,
            "retriable": error.retriable,
        });
        self.0.output.event("consumer_error", fields);
    }

    /// Commit, and report the result.
    fn commit(&self, how: How, offsets: &[Position]) -> Done {
        let invoke_ns = monotonic_ns();
        let result = || CommitResult {
            output: Arc::clone(&self.0.output),
            offsets: offsets.to_vec(),
            how,
            invoke_ns,
        };
        let done = match how {
            How::Sync => self.consumer().commit(offsets).inspect(|()| result().ok()),
            How::Async => self.consumer().commit_async(offsets, result()),
        };
        if let Err(Failure::Error(error)) = &done {
            result().failed(&error.name);
            self.survived("commit", error);
        }
        done
    }

    fn called(&self, callback: &str, fields: Value) -> Result<(), String> {
        let name = format!("partitions_{callback}");
        self.0.output.event(&name, fields);
        match locked(&self.0.state).failing.get_mut(callback) {
            Some(times) if *times > 0 => {
                *times -= 1;
                Err(format!("the application's listener fails in {callback}"))
            }
            _ => Ok(()),
        }
    }
}

/// Receives the result of one commit.
pub struct CommitResult {
    output: Arc<Output>,
    offsets: Vec<Position>,
    how: How,
    invoke_ns: i64,
}

impl CommitResult {
    /// The offsets are committed.
    pub fn ok(self) {
        self.put(None);
    }

    /// The commit failed, with an error of this name.
    pub fn failed(self, error: &str) {
        self.put(Some(error));
    }

    fn put(self, error: Option<&str>) {
        let times_ns = (self.invoke_ns, monotonic_ns());
        let fields = commit_fields(&self.offsets, self.how.name(), times_ns, error);
        self.output.event("offsets_committed", fields);
    }
}

fn commit_fields(
    offsets: &[Position],
    how: &str,
    times_ns: (i64, i64),
    error: Option<&str>,
) -> Value {
    json!({
        "offsets": positions(offsets),
        "success": error.is_none(),
        "how": how,
        "invoke_ns": times_ns.0,
        "complete_ns": times_ns.1,
        "error": error,
    })
}
