//! What a program supplies: one client, behind four methods.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::RecordResult;

/// Who the client is. `client_version` is what really runs, `library_version` what it wraps, if anything.
pub struct About {
    pub client: &'static str,
    pub client_version: String,
    pub library_version: Option<String>,
    pub language: &'static str,
    pub features: &'static [&'static str],
}

/// What became of the settings that were asked for, by their Java names: each is in one of the two.
#[derive(Default)]
pub struct Settings {
    /// The client's own name, and the value as it was given to the client.
    pub applied: BTreeMap<String, (String, Value)>,
    /// Why it is not set as asked.
    pub not_set: BTreeMap<String, String>,
}

/// The client itself says, in these words, that it cannot be built from the settings.
pub struct ConfigRefused(pub String);

/// One client as the contract sees it. A panic, on any thread, is taken for a defect of the program and ends it.
pub trait Adapter: Sized {
    /// Who the client is; asked before anything else, and to be answered at once.
    fn about() -> About;

    /// Build the client from settings in the Java names.
    fn configure(config: &Map<String, Value>) -> Result<(Self, Settings), ConfigRefused>;

    /// Hand one record to the client; `result` is to be given now or later, on any thread.
    fn send(
        &mut self,
        topic: &str,
        key: Option<&str>,
        value: &str,
        partition: Option<i32>,
        result: RecordResult,
    );

    /// Have the client flush, at most `timeout` long; true if it says that all is done.
    ///
    /// Its word is passed on, true or not: whether all records have results then is for the harness to see.
    fn flush(&mut self, timeout: Duration) -> bool;

    /// Close the client within `timeout`; true if it says that every record has a result.
    fn close(self, timeout: Duration) -> bool;
}
