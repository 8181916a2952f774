//! The Java producer's settings translated for librdkafka (its CONFIGURATION.md), and those without an equivalent.
//!
//! Names that both share are passed unchanged, and librdkafka itself rejects those that it does not know. They depend
//! on its version.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// librdkafka's properties for one Java setting, with their values.
pub type Properties = Vec<(String, String)>;

/// Java name -> librdkafka's properties, and Java name -> why it has none.
pub type Translated = (BTreeMap<String, Properties>, BTreeMap<String, String>);

/// Translate settings in Java names: each to librdkafka's properties, or to why it has none.
pub fn translate(config: &Map<String, Value>) -> Translated {
    let (mut wanted, mut not_set) = (BTreeMap::new(), BTreeMap::new());
    for (java, value) in config {
        if let Some(why) = absent(java) {
            not_set.insert(java.clone(), why.to_owned());
            continue;
        }
        let own = names(java).into_iter();
        let properties = own.map(|own| (own.to_owned(), text(own, value)));
        wanted.insert(java.clone(), properties.collect());
    }
    (wanted, not_set)
}

/// Return librdkafka's newer name for one of its properties.
fn newest(own: &str) -> &str {
    match own {
        "compression.codec" => "compression.type",
        "max.in.flight" => "max.in.flight.requests.per.connection",
        "message.send.max.retries" => "retries",
        "message.timeout.ms" => "delivery.timeout.ms",
        "metadata.broker.list" => "bootstrap.servers",
        "queue.buffering.max.ms" => "linger.ms",
        "request.required.acks" => "acks",
        same => same,
    }
}

/// Divide librdkafka's own properties into those to give it, and those that the harness sets.
pub fn apart(
    own: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, Properties>,
) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut given, mut not_set) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in own {
        let mut set = wanted.values().flatten();
        if set.any(|(property, _)| property == newest(name)) {
            not_set.insert(name.clone(), "the harness sets it".to_owned());
        } else {
            given.insert(name.clone(), value.clone());
        }
    }
    (given, not_set)
}

/// Return librdkafka's names for a Java setting.
///
/// Its `request.timeout.ms` is only the time that the broker waits for acknowledgements. The client waits for a
/// response for `socket.timeout.ms`. Its `metadata.max.age.ms` is when cached metadata expires. The refresh interval
/// has another name.
fn names(java: &str) -> Vec<&str> {
    match java {
        "request.timeout.ms" => vec!["socket.timeout.ms", "request.timeout.ms"],
        "metadata.max.age.ms" => vec!["topic.metadata.refresh.interval.ms"],
        "max.request.size" => vec!["message.max.bytes"],
        "buffer.memory" => vec!["queue.buffering.max.kbytes"],
        same => vec![same],
    }
}

/// Why librdkafka does not receive a Java setting.
fn absent(java: &str) -> Option<&'static str> {
    (java == "max.block.ms").then_some(
        "send() of rdkafka never blocks; the adapter retries a full local queue for this long",
    )
}

/// Return a value as librdkafka reads it for one of its properties.
pub fn text(own: &str, value: &Value) -> String {
    match (own, value) {
        ("queue.buffering.max.kbytes", Value::Number(bytes)) => {
            (bytes.as_u64().unwrap_or(0) / 1024).max(1).to_string()
        }
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    }
}
