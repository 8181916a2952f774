//! The consumer of rdkafka: a `BaseConsumer`, whose callbacks run within `poll`, between any two records.
//!
//! A turn takes several records by as many polls. If partitions are revoked in the middle, the application first
//! processes what it has, because it could not commit it afterwards.

use std::collections::BTreeMap;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde_json::{Map, Value};
use verifiable::{
    Application, ClientError, CommitResult, ConfigRefused, ConsumerAdapter, Done, Failure, Place,
    Position, Record, Settings, EARLIEST, LATEST,
};

use crate::building::{build, library_version, name};
use crate::callbacks::{locked, Callbacks, Client, REPORTS_COMMITS};
use crate::consumer_settings::translate;

const MAX_POLL_RECORDS: u64 = 500; // Java's default
const SEEK_TIMEOUT: Duration = Duration::from_secs(5);
const REVOCATION: Duration = Duration::from_secs(1);
const SLICE: Duration = Duration::from_millis(100);

/// KIP-848 is ready for use since this version of librdkafka.
const CONSUMER_PROTOCOL_SINCE: (u32, u32) = (2, 12);

/// What a consumer without a group is given, since librdkafka requires a group, and commits to it by default.
const WITHOUT_GROUP: [(&str, &str); 2] =
    [("group.id", "no-group"), ("enable.auto.commit", "false")];

pub struct RdkafkaConsumer {
    client: Mutex<Option<Arc<Client>>>,
    callbacks: Callbacks,
    application: Application,
    most: usize,
}

/// The features of the linked versions of rdkafka and librdkafka.
pub fn features() -> Vec<&'static str> {
    let version = library_version();
    let mut numbers = version.split('.').map_while(|part| part.parse().ok());
    let linked = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let mut features = vec!["consumer", "group"];
    features.extend(cfg!(since_0_28).then_some("cooperative"));
    features.extend((linked >= CONSUMER_PROTOCOL_SINCE).then_some("consumer_protocol"));
    features.extend([
        "static_membership",
        "read_committed",
        "assign",
        "seek",
        "pause",
        "pattern",
        "attempt",
    ]);
    features
}

impl RdkafkaConsumer {
    /// The client, until it is closed.
    fn client(&self) -> Result<Arc<Client>, Failure> {
        let closed = || Failure::from(failure(KafkaError::Canceled));
        locked(&self.client).clone().ok_or_else(closed)
    }
}

impl ConsumerAdapter for RdkafkaConsumer {
    fn configure(
        config: &Map<String, Value>,
        own: &BTreeMap<String, String>,
        application: Application,
    ) -> Result<(Self, Settings), ConfigRefused> {
        let commits_itself = config
            .get("enable.auto.commit")
            .is_none_or(|is| is != false);
        let callbacks = Callbacks::new(application.clone(), commits_itself);
        let (client, settings) = build(translate(config), own, |properties| {
            let mut properties = properties.clone();
            if !config.contains_key("group.id") {
                for (own, value) in WITHOUT_GROUP {
                    properties.set(own, value);
                }
            }
            properties.create_with_context(callbacks.clone())
        })?;
        let client = Arc::new(client);
        callbacks.are_of(&client);
        let most = config.get("max.poll.records").and_then(Value::as_u64);
        let consumer = RdkafkaConsumer {
            client: Mutex::new(Some(client)),
            callbacks,
            application,
            most: most.unwrap_or(MAX_POLL_RECORDS) as usize,
        };
        Ok((consumer, settings))
    }

    fn subscribe(&self, topics: &[String], pattern: Option<&str>) -> Done {
        // librdkafka takes a topic with ^ for a pattern, which need not match as a whole.
        let pattern = pattern.map(|it| {
            let plain = it.trim_start_matches('^').trim_end_matches('$');
            format!("^({plain})$")
        });
        let wanted: Vec<_> = match &pattern {
            Some(pattern) => vec![pattern.as_str()],
            None => topics.iter().map(String::as_str).collect(),
        };
        done(self.client()?.subscribe(&wanted))
    }

    fn assign(&self, positions: &[Position]) -> Done {
        let mut list = TopicPartitionList::new();
        for at in positions {
            if at.offset == LATEST {
                list.add_partition(&at.place.topic, at.place.partition);
            } else {
                add(&mut list, at)?;
            }
        }
        done(self.client()?.assign(&list))
    }

    /// It also serves the revocation, which librdkafka begins with it and ends in a callback.
    fn unsubscribe(&self) -> Done {
        let client = self.client()?;
        let in_group = client.subscription().map_err(failure)?.count() > 0;
        client.unsubscribe();
        let deadline = Instant::now() + REVOCATION;
        while in_group
            && Instant::now() < deadline
            && client.assignment().map_err(failure)?.count() > 0
        {
            self.poll(SLICE)?;
        }
        done(client.assign(&TopicPartitionList::new()))?; // what was assigned without a group
        self.application.work_first();
        Ok(())
    }

    fn seek(&self, at: &Position) -> Done {
        let (topic, partition) = (&at.place.topic, at.place.partition);
        done(
            self.client()?
                .seek(topic, partition, offset(at.offset), SEEK_TIMEOUT),
        )
    }

    fn pause(&self, places: &[Place]) -> Done {
        done(self.client()?.pause(&librdkafkas(places)))
    }

    fn resume(&self, places: &[Place]) -> Done {
        done(self.client()?.resume(&librdkafkas(places)))
    }

    fn poll(&self, timeout: Duration) -> Done {
        let client = self.client()?;
        let mut wait = timeout;
        while self.application.taken() < self.most {
            match client.poll(wait) {
                None => break,
                Some(message) => self.application.take(&record(&message.map_err(failure)?)),
            }
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn commit(&self, offsets: &[Position]) -> Done {
        let list = list(offsets)?;
        if REPORTS_COMMITS {
            self.callbacks.expect(offsets, None);
        }
        done(self.client()?.commit(&list, CommitMode::Sync))
    }

    fn commit_async(&self, offsets: &[Position], result: CommitResult) -> Done {
        let list = list(offsets)?;
        self.callbacks.expect(offsets, Some(result));
        let begun = done(self.client()?.commit(&list, CommitMode::Async));
        if begun.is_err() {
            self.callbacks.expect_no_longer();
        }
        begun
    }

    fn commits_async(&self) -> bool {
        REPORTS_COMMITS
    }

    fn close(&self, timeout: Duration) -> bool {
        let client = locked(&self.client).take();
        let (done, closed) = mpsc::channel();
        thread::spawn(move || {
            drop(client); // the crate has no other close, and this one has no timeout
            let _ = done.send(());
        });
        closed.recv_timeout(timeout).is_ok()
    }
}

fn record<'a>(message: &'a BorrowedMessage<'_>) -> Record<'a> {
    Record {
        topic: message.topic(),
        partition: message.partition(),
        offset: message.offset(),
        key: message.key(),
        value: message.payload(),
        leader_epoch: None, // the crate does not report it
    }
}

fn librdkafkas(places: &[Place]) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for place in places {
        list.add_partition(&place.topic, place.partition);
    }
    list
}

fn list(positions: &[Position]) -> Result<TopicPartitionList, Failure> {
    let mut list = TopicPartitionList::new();
    for at in positions {
        add(&mut list, at)?;
    }
    Ok(list)
}

/// Add a position to a list.
fn add(list: &mut TopicPartitionList, at: &Position) -> Done {
    done(list.add_partition_offset(&at.place.topic, at.place.partition, offset(at.offset)))
}

fn offset(offset: i64) -> Offset {
    match offset {
        LATEST => Offset::End,
        EARLIEST => Offset::Beginning,
        at => Offset::Offset(at),
    }
}

fn done(result: KafkaResult<()>) -> Done {
    result.map_err(|error| failure(error).into())
}

fn failure(error: KafkaError) -> ClientError {
    ClientError {
        name: name(&error),
        message: error.to_string(),
        retriable: None, // the crate does not say so
    }
}
