//! The Java consumer's settings translated for librdkafka, and those without an equivalent.
//!
//! The meaning of an automatic commit differs: librdkafka commits what the application has taken, Java what it has
//! taken before its latest poll. The client is on trial with this default.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::settings::{text, Properties, Translated};

/// What librdkafka refuses with `group.protocol=consumer`.
const OF_CLASSIC: [&str; 3] = ["heartbeat.interval.ms", "session.timeout.ms", STRATEGY];
const STRATEGY: &str = "partition.assignment.strategy";

/// librdkafka's name for an assignor -> the end of Java's. The crate of before 0.28 always replaces the whole assignment.
const ASSIGNORS: [(&str, &str); 3] = [
    ("range", "RangeAssignor"),
    ("roundrobin", "RoundRobinAssignor"),
    ("cooperative-sticky", "CooperativeStickyAssignor"),
];

/// Translate settings in Java names: each to librdkafka's properties, or to why it has none.
pub fn translate(config: &Map<String, Value>) -> Translated {
    let (mut wanted, mut not_set) = (BTreeMap::new(), BTreeMap::new());
    let mode = config.get("group.protocol").and_then(Value::as_str);
    for (java, value) in config {
        let of_brokers = mode == Some("consumer") && OF_CLASSIC.contains(&java.as_str());
        let properties = if of_brokers {
            Err("the brokers decide it with group.protocol=consumer".to_owned())
        } else {
            properties(java, value)
        };
        match properties {
            Ok(properties) => drop(wanted.insert(java.clone(), properties)),
            Err(why) => drop(not_set.insert(java.clone(), why)),
        }
    }
    (wanted, not_set)
}

/// Return librdkafka's properties for a Java setting, or why there are none.
fn properties(java: &str, value: &Value) -> Result<Properties, String> {
    let own = match java {
        "request.timeout.ms" => "socket.timeout.ms",
        "metadata.max.age.ms" => "topic.metadata.refresh.interval.ms",
        "fetch.max.wait.ms" => "fetch.wait.max.ms",
        "default.api.timeout.ms" => {
            return Err("each call has a timeout of its own, and commit() has none".to_owned())
        }
        "max.poll.records" => {
            return Err(
                "poll() returns one record; the adapter takes up to so many for one turn"
                    .to_owned(),
            )
        }
        same => same,
    };
    let given = match java {
        STRATEGY => assignors(&text(own, value))?,
        "auto.offset.reset" if value == "none" => "error".to_owned(),
        _ => text(own, value),
    };
    Ok(vec![(own.to_owned(), given)])
}

/// Return librdkafka's names for a list of assignors, which Java takes as short names or classes.
fn assignors(list: &str) -> Result<String, String> {
    let names = list.split(',').map(|each| {
        let last = each.trim().rsplit('.').next().unwrap_or_default();
        let known = ASSIGNORS
            .iter()
            .find(|(own, java)| last == *own || last == *java);
        match known {
            Some(("cooperative-sticky", _)) if !cfg!(since_0_28) => {
                Err("rdkafka before 0.28 always replaces the whole assignment".to_owned())
            }
            Some((own, _)) => Ok(*own),
            None => Err(format!("librdkafka has no assignor {last}")),
        }
    });
    names
        .collect::<Result<Vec<_>, _>>()
        .map(|names| names.join(","))
}
