//! What librdkafka calls back: rebalances and results of commits, both within the application's `poll`, errors and logs.
//!
//! Before 0.36 the crate reports the result of each commit. Since then it uses librdkafka's events, and there is none for
//! a commit that the application has asked for (the crate's issue 856). Those of automatic commits are left.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
#[cfg(since_0_32_1)]
use rdkafka::consumer::Consumer;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use verifiable::{Application, CommitResult, Place, Position};

use crate::building::name;

/// Whether the crate reports the result of a commit that does not wait for it.
pub const REPORTS_COMMITS: bool = !cfg!(since_0_36);

pub type Client = BaseConsumer<Callbacks>;

/// The context of the crate's consumer, which the adapter shares.
#[derive(Clone)]
pub struct Callbacks(Arc<Inner>);

struct Inner {
    application: Application,
    commits_itself: bool,
    client: OnceLock<Weak<Client>>,
    /// Commits that the application has asked for. Only those that do not wait have a receiver of the result.
    commits: Mutex<Vec<(Vec<Position>, Option<CommitResult>)>>,
    /// What was assigned last. Before 0.28 the crate does not say what is revoked, which is always all of it.
    #[cfg(not(since_0_28))]
    assigned: Mutex<Vec<Place>>,
}

impl Callbacks {
    /// `commits_itself`: librdkafka commits automatically.
    pub fn new(application: Application, commits_itself: bool) -> Callbacks {
        Callbacks(Arc::new(Inner {
            application,
            commits_itself,
            client: OnceLock::new(),
            commits: Mutex::default(),
            #[cfg(not(since_0_28))]
            assigned: Mutex::default(),
        }))
    }

    /// Name the client, which tells whether a revoked assignment is lost.
    pub fn are_of(&self, client: &Arc<Client>) {
        let _ = self.0.client.set(Arc::downgrade(client));
    }

    /// Expect the result of a commit, for `result` if the application does not wait for it.
    pub fn expect(&self, offsets: &[Position], result: Option<CommitResult>) {
        locked(&self.0.commits).push((offsets.to_vec(), result));
    }

    /// Do not expect the result of the latest commit, which was refused at once.
    pub fn expect_no_longer(&self) {
        locked(&self.0.commits).pop();
    }

    fn rebalanced(&self, rebalance: &Rebalance<'_>) {
        let application = &self.0.application;
        application.work_first();
        let _ = match rebalance {
            Rebalance::Assign(list) => {
                let partitions = places(list);
                #[cfg(not(since_0_28))]
                locked(&self.0.assigned).clone_from(&partitions);
                application.assigned(&partitions, None, "")
            }
            #[cfg(since_0_28)]
            Rebalance::Revoke(list) => self.given_up(&places(list)),
            #[cfg(not(since_0_28))]
            Rebalance::Revoke => self.given_up(&std::mem::take(&mut *locked(&self.0.assigned))),
            Rebalance::Error(error) => {
                eprintln!("librdkafka: rebalance: {error:?}");
                Ok(())
            }
        };
    }

    fn given_up(&self, partitions: &[Place]) -> Result<(), String> {
        if self.is_lost() {
            self.0.application.lost(partitions)
        } else {
            self.0.application.revoked(partitions)
        }
    }

    /// Whether librdkafka has lost the assignment. Before 0.32.1 the crate does not say so. A client that closes has none.
    #[cfg(since_0_32_1)]
    fn is_lost(&self) -> bool {
        let client = self.0.client.get().and_then(Weak::upgrade);
        client.is_some_and(|client| client.assignment_lost())
    }

    #[cfg(not(since_0_32_1))]
    fn is_lost(&self) -> bool {
        false
    }
}

impl ClientContext for Callbacks {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        eprintln!("librdkafka: {facility} {message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        eprintln!("librdkafka: {error}: {reason}");
    }
}

impl ConsumerContext for Callbacks {
    #[cfg(since_0_37)]
    fn pre_rebalance(&self, _client: &Client, rebalance: &Rebalance<'_>) {
        self.rebalanced(rebalance);
    }

    #[cfg(not(since_0_37))]
    fn pre_rebalance<'a>(&self, rebalance: &Rebalance<'a>) {
        self.rebalanced(rebalance);
    }

    fn commit_callback(&self, result: KafkaResult<()>, list: &TopicPartitionList) {
        let offsets = positions(list);
        let partial = || list.elements().iter().find_map(|each| each.error().err());
        let error = result.err().or_else(partial).map(|error| name(&error));
        let asked = {
            let mut commits = locked(&self.0.commits);
            let index = commits.iter().position(|(asked, _)| *asked == offsets);
            index.map(|index| commits.remove(index))
        };
        match (asked, &error) {
            (Some((_, Some(result))), None) => result.ok(),
            (Some((_, Some(result))), Some(error)) => result.failed(error),
            (Some((_, None)), _) => {} // the call has told it
            (None, _) if offsets.is_empty() || !self.0.commits_itself => {}
            (None, error) => self.0.application.committed(&offsets, error.as_deref()),
        }
    }
}

fn places(list: &TopicPartitionList) -> Vec<Place> {
    let place = |each: &rdkafka::topic_partition_list::TopicPartitionListElem<'_>| Place {
        topic: each.topic().to_owned(),
        partition: each.partition(),
    };
    list.elements().iter().map(place).collect()
}

/// The offsets in a list, in the order of their partitions. An element without one says that there is nothing new.
fn positions(list: &TopicPartitionList) -> Vec<Position> {
    let offsets = list.elements().into_iter().map(|each| each.offset());
    let mut found: Vec<_> = places(list)
        .into_iter()
        .zip(offsets)
        .filter_map(|(place, offset)| match offset {
            Offset::Offset(offset) => Some(Position { place, offset }),
            _ => None,
        })
        .collect();
    found.sort();
    found
}

pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
