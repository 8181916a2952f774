//! The program for rdkafka: a `ThreadedProducer`, whose own thread serves the delivery callback.
//!
//! It reports a definite failure only if `send` itself rejects the record, which then never entered librdkafka's
//! queue. A delivery report with an error is `info`, whatever the error: the crate does not expose librdkafka's message
//! status, and a rejection of the last attempt (or a deleted topic) says nothing about an earlier attempt whose
//! response was lost.

mod building;
mod callbacks;
mod consumer;
mod consumer_settings;
mod settings;

use std::collections::BTreeMap;
use std::mem;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use serde_json::{Map, Value};
use verifiable::{About, Adapter, ConfigRefused, RecordResult, Settings};

use crate::building::{build, library_version, name};
use crate::consumer::RdkafkaConsumer;
use crate::settings::translate;

const UNKNOWN_OFFSET: i64 = -1;
const MAX_BLOCK_MS: u64 = 60_000; // Java's default
const FULL_QUEUE_WAIT: Duration = Duration::from_millis(10);

struct Rdkafka {
    producer: ThreadedProducer<Deliveries>,
    max_block: Duration,
}

/// Receives the client's delivery reports and errors.
struct Deliveries;

impl ClientContext for Deliveries {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        eprintln!("librdkafka: {facility} {message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        eprintln!("librdkafka: {error}: {reason}");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<RecordResult>;

    fn delivery(&self, delivered: &DeliveryResult<'_>, result: Self::DeliveryOpaque) {
        match delivered {
            Ok(message) => result.ok(message.partition(), message.offset().max(UNKNOWN_OFFSET)),
            Err((error, _)) => result.info(name(error)),
        }
    }
}

impl Adapter for Rdkafka {
    fn about() -> About {
        About {
            client: "rdkafka",
            client_version: env!("RDKAFKA_VERSION").to_owned(),
            library_version: Some(library_version()),
            language: "rust/c",
            features: [
                &["producer", "idempotence", "client_config"],
                &*consumer::features(),
            ]
            .concat(),
        }
    }

    fn configure(config: &Map<String, Value>) -> Result<(Self, Settings), ConfigRefused> {
        Self::configure_with(config, &BTreeMap::new())
    }

    fn configure_with(
        config: &Map<String, Value>,
        own: &BTreeMap<String, String>,
    ) -> Result<(Self, Settings), ConfigRefused> {
        let (producer, settings) = build(translate(config), own, |properties| {
            properties.create_with_context(Deliveries)
        })?;
        let max_block_ms = config.get("max.block.ms").and_then(Value::as_u64);
        let client = Rdkafka {
            producer,
            max_block: Duration::from_millis(max_block_ms.unwrap_or(MAX_BLOCK_MS)),
        };
        Ok((client, settings))
    }

    fn send(
        &mut self,
        topic: &str,
        key: Option<&str>,
        value: &str,
        partition: Option<i32>,
        result: RecordResult,
    ) {
        let mut record = BaseRecord::with_opaque_to(topic, Box::new(result)).payload(value);
        record.key = key;
        record.partition = partition;
        let deadline = Instant::now() + self.max_block;
        while let Err((error, refused)) = self.producer.send(record) {
            let full = error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull);
            if !full || Instant::now() >= deadline {
                return refused.delivery_opaque.fail(name(&error));
            }
            thread::sleep(FULL_QUEUE_WAIT);
            record = refused;
        }
    }

    fn flush(&mut self, timeout: Duration) -> bool {
        // flush has a result only since 0.29. All versions report the number of records that are left.
        let _ = self.producer.flush(timeout);
        self.producer.in_flight_count() == 0
    }

    fn close(mut self, timeout: Duration) -> bool {
        let done = self.flush(timeout);
        // Dropping the producer would purge its queue, and take its time. A record without a result must remain visible
        // as such.
        mem::forget(self);
        done
    }
}

fn main() {
    verifiable::run_with_consumer::<Rdkafka, RdkafkaConsumer>()
}
