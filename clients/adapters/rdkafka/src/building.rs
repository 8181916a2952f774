//! Builds a client of librdkafka without the properties that its version does not have, and names its errors.

use std::collections::BTreeMap;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaConfRes;
use rdkafka::util::get_rdkafka_version;
use serde_json::Value;
use verifiable::{ConfigRefused, Settings};

use crate::settings::{apart, Properties, Translated};

/// Return what `create` builds, and which settings it has. `own` are properties under librdkafka's names.
pub fn build<T>(
    translated: Translated,
    own: &BTreeMap<String, String>,
    create: impl Fn(&ClientConfig) -> KafkaResult<T>,
) -> Result<(T, Settings), ConfigRefused> {
    let (mut wanted, mut not_set) = translated;
    let (mut given, mut client_not_set) = apart(own, &wanted);
    let client = loop {
        let unknown = match create(&client_config(&wanted, &given)) {
            Ok(client) => break client,
            Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, _, unknown, _)) => {
                unknown
            }
            Err(refusal) => return Err(ConfigRefused(refusal.to_string())),
        };
        let why = format!("librdkafka {} has no property {unknown}", library_version());
        if given.remove(&unknown).is_some() {
            client_not_set.insert(unknown, why);
            continue;
        }
        wanted.retain(|java, properties| {
            let known = properties.iter().all(|(own, _)| *own != unknown);
            if !known {
                not_set.insert(java.clone(), why.clone());
            }
            known
        });
    };
    let settings = Settings {
        applied: wanted.into_iter().map(told).collect(),
        not_set,
        client_not_set,
    };
    Ok((client, settings))
}

/// The version of the linked librdkafka.
pub fn library_version() -> String {
    get_rdkafka_version().1
}

/// Return the client's own name for an error.
pub fn name(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(code) => format!("{code:?}"),
        None => error.to_string(),
    }
}

fn client_config(
    wanted: &BTreeMap<String, Properties>,
    given: &BTreeMap<String, String>,
) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set_log_level(RDKafkaLogLevel::Info); // librdkafka's default, as the crate's own logs little
    for (own, value) in given {
        config.set(own.as_str(), value.as_str());
    }
    for (own, value) in wanted.values().flatten() {
        config.set(own.as_str(), value.as_str());
    }
    config
}

/// The report of a setting that was applied: its own names, and the value.
fn told((java, properties): (String, Properties)) -> (String, (String, Value)) {
    let own: Vec<_> = properties.iter().map(|(own, _)| own.as_str()).collect();
    let value = properties[0].1.as_str().into();
    (java, (own.join(", "), value))
}
