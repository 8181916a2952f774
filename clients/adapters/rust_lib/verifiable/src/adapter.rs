//! What a program supplies: one client, as an adapter with four methods.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::RecordResult;

/// The client's identity. `client_version` is the actual version, `library_version` that of a wrapped library.
pub struct About {
    pub client: &'static str,
    pub client_version: String,
    pub library_version: Option<String>,
    pub language: &'static str,
    pub features: Vec<&'static str>,
}

/// The result for each requested setting, by its Java name: in one of the two maps.
#[derive(Default)]
pub struct Settings {
    /// The client's own name, and the value that was passed to the client.
    pub applied: BTreeMap<String, (String, Value)>,
    /// Why it is not set as requested.
    pub not_set: BTreeMap<String, String>,
    /// Why a setting under one of the client's own names is not applied.
    pub client_not_set: BTreeMap<String, String>,
}

/// The client itself rejects the settings, with this message.
pub struct ConfigRefused(pub String);

/// One client, as the contract defines it. A panic, on any thread, counts as a defect of the program and ends it.
pub trait Adapter: Sized {
    /// The client's identity. Called before anything else, and must return at once.
    fn about() -> About;

    /// Build the client from settings in the Java names.
    fn configure(config: &Map<String, Value>) -> Result<(Self, Settings), ConfigRefused>;

    /// Build the client from settings in the Java names, and from others under its own names.
    ///
    /// It is called instead of `configure`. An adapter that implements it declares the feature `client_config`.
    fn configure_with(
        config: &Map<String, Value>,
        _own: &BTreeMap<String, String>,
    ) -> Result<(Self, Settings), ConfigRefused> {
        Self::configure(config)
    }

    /// Pass one record to the client. Give `result` now or later, on any thread.
    fn send(
        &mut self,
        topic: &str,
        key: Option<&str>,
        value: &str,
        partition: Option<i32>,
        result: RecordResult,
    );

    /// Flush the client, for at most `timeout`. True if it reports that it is done.
    ///
    /// The answer is passed on unchecked. The harness determines whether all records have results then.
    fn flush(&mut self, timeout: Duration) -> bool;

    /// Close the client within `timeout`. True if it reports that every record has a result.
    fn close(self, timeout: Duration) -> bool;
}
