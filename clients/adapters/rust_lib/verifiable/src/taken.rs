//! The records that one turn takes, by partition, in the order of delivery.

use serde_json::{json, Value};

use crate::consumer::{Place, Position, Record};

#[derive(Default)]
pub(crate) struct Taken {
    batches: Vec<Batch>,
    count: usize,
}

/// The records of one partition, in columns.
struct Batch {
    place: Place,
    offsets: Vec<i64>,
    values: Vec<Option<String>>,
    keys: Vec<Option<String>>,
    leader_epochs: Vec<i32>,
}

impl Taken {
    pub fn add(&mut self, record: &Record<'_>) {
        let batch = self.batch(record.topic, record.partition);
        batch.offsets.push(record.offset);
        batch.values.push(record.value.map(text));
        batch.keys.push(record.key.map(text));
        batch.leader_epochs.extend(record.leader_epoch);
        self.count += 1;
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The position of the first record of each partition.
    pub fn first(&self) -> Vec<Position> {
        self.positions(|batch| batch.offsets[0])
    }

    /// The position after the records of each partition, which a commit of them commits.
    pub fn after(&self) -> Vec<Position> {
        self.positions(|batch| batch.most() + 1)
    }

    /// The fields of the event about them.
    pub fn told(&self, polled_ns: i64) -> Value {
        let partitions: Value = self.batches.iter().map(Batch::told).collect();
        json!({"count": self.count, "partitions": partitions, "polled_ns": polled_ns})
    }

    fn batch(&mut self, topic: &str, partition: i32) -> &mut Batch {
        let its = |batch: &Batch| batch.place.partition == partition && batch.place.topic == topic;
        let index = self.batches.iter().position(its).unwrap_or_else(|| {
            self.batches.push(Batch::new(topic, partition));
            self.batches.len() - 1
        });
        &mut self.batches[index]
    }

    fn positions(&self, offset: impl Fn(&Batch) -> i64) -> Vec<Position> {
        let position = |batch: &Batch| Position {
            place: batch.place.clone(),
            offset: offset(batch),
        };
        self.batches.iter().map(position).collect()
    }
}

impl Batch {
    fn new(topic: &str, partition: i32) -> Batch {
        Batch {
            place: Place {
                topic: topic.to_owned(),
                partition,
            },
            offsets: Vec::new(),
            values: Vec::new(),
            keys: Vec::new(),
            leader_epochs: Vec::new(),
        }
    }

    fn most(&self) -> i64 {
        self.offsets
            .iter()
            .copied()
            .max()
            .expect("a batch has a record")
    }

    /// The columns. That of the leader epochs is empty unless each record has one.
    fn told(&self) -> Value {
        let has_all = self.leader_epochs.len() == self.offsets.len();
        json!({
            "topic": self.place.topic,
            "partition": self.place.partition,
            "count": self.offsets.len(),
            "minOffset": self.offsets.iter().min(),
            "maxOffset": self.most(),
            "offsets": self.offsets,
            "values": self.values,
            "keys": self.keys,
            "leader_epochs": if has_all { self.leader_epochs.as_slice() } else { &[] },
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
