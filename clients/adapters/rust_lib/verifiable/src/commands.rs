//! The input: parses lines as commands.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{from_slice, from_value, Map, Value};

use crate::calls::Call;

/// The id of a close without a command, and its timeout.
const UNASKED: i64 = -1;
const UNASKED_CLOSE: Duration = Duration::from_secs(5);

pub(crate) enum Command {
    Configure {
        id: i64,
        consumes: bool,
        config: Map<String, Value>,
        own: BTreeMap<String, String>,
    },
    Produce(Produce),
    Call(Call),
    Flush {
        id: i64,
        timeout: Duration,
    },
    Close {
        id: i64,
        timeout: Duration,
    },
    /// A command that is not part of the contract that this library implements.
    Unknown {
        id: i64,
        cmd: String,
    },
}

pub(crate) struct Produce {
    pub id: i64,
    pub topic: String,
    pub first: i64,
    pub keys: Vec<Option<String>>,
    pub values: Vec<String>,
    pub partitions: Vec<Option<i32>>,
}

impl Command {
    /// The close at the end of stdin, and after a signal.
    pub fn unasked_close() -> Command {
        Command::Close {
            id: UNASKED,
            timeout: UNASKED_CLOSE,
        }
    }

    /// Return the command in a line. None if there is none, or a known one lacks a field.
    pub fn parse(line: &[u8]) -> Option<Command> {
        let fields: Map<String, Value> = from_slice(line).ok()?;
        let cmd = fields.get("cmd")?.as_str()?.to_owned();
        if let Some(call) = Call::parse(&cmd, &fields) {
            return call.map(Command::Call);
        }
        Some(match cmd.as_str() {
            "configure" => Command::Configure {
                id: number(&fields, "id")?,
                consumes: fields.get("role").and_then(Value::as_str) == Some("consumer"),
                config: fields.get("config")?.as_object()?.clone(),
                own: match fields.get("client_config") {
                    Some(own) => from_value(own.clone()).ok()?,
                    None => BTreeMap::new(),
                },
            },
            "produce" => Command::Produce(Produce::parse(fields)?),
            "flush" => Command::Flush {
                id: number(&fields, "id")?,
                timeout: timeout(&fields)?,
            },
            "close" => Command::Close {
                id: number(&fields, "id")?,
                timeout: timeout(&fields)?,
            },
            _ => Command::Unknown {
                id: number(&fields, "id").unwrap_or(UNASKED),
                cmd,
            },
        })
    }
}

impl Produce {
    fn parse(mut fields: Map<String, Value>) -> Option<Produce> {
        let values: Vec<String> = from_value(fields.remove("values")?).ok()?;
        let keys: Vec<Option<String>> = from_value(fields.remove("keys")?).ok()?;
        let named = fields.remove("partitions").unwrap_or_default();
        let named: Option<Vec<i32>> = from_value(named).ok()?;
        let partitions = match named {
            Some(named) => named.into_iter().map(Some).collect(),
            None => vec![None; values.len()],
        };
        let is_even = keys.len() == values.len() && partitions.len() == values.len();
        is_even.then_some(Produce {
            id: number(&fields, "id")?,
            topic: fields.get("topic")?.as_str()?.to_owned(),
            first: number(&fields, "first")?,
            keys,
            values,
            partitions,
        })
    }
}

pub(crate) fn number(fields: &Map<String, Value>, name: &str) -> Option<i64> {
    fields.get(name)?.as_i64()
}

fn timeout(fields: &Map<String, Value>) -> Option<Duration> {
    Some(Duration::from_millis(fields.get("timeout_ms")?.as_u64()?))
}
