//! The calls of an application that consumes, as commands.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::commands::number;
use crate::consumer::{Place, Position, LATEST};

/// A call, with the id of its command.
pub(crate) struct Call {
    pub id: i64,
    pub cmd: String,
    pub what: What,
}

pub(crate) enum What {
    Subscribe {
        topics: Vec<String>,
        pattern: Option<String>,
        turns: Turns,
    },
    Assign {
        positions: Vec<Position>,
        turns: Turns,
    },
    Unsubscribe,
    Seek(Position),
    Pause(Vec<Place>),
    Resume(Vec<Place>),
    Commit(How),
    AttemptPoll,
    AttemptAssign(Vec<Position>),
    Process(Duration),
    Throw {
        callback: String,
        times: u64,
    },
    Wakeup,
}

/// What each turn does: how it commits, and how long it works on what it took.
pub(crate) struct Turns {
    pub mode: Mode,
    pub processing: Duration,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The application itself does not commit: "none" and "auto".
    #[default]
    Never,
    /// It commits what it has processed.
    After(How),
    /// It commits before it processes, which is at-most-once.
    First,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Sync,
    Async,
}

impl How {
    pub fn name(self) -> &'static str {
        match self {
            How::Sync => "sync",
            How::Async => "async",
        }
    }

    fn named(name: &str) -> Option<How> {
        [How::Sync, How::Async]
            .into_iter()
            .find(|how| how.name() == name)
    }
}

impl Mode {
    fn named(name: &str) -> Option<Mode> {
        match name {
            "none" | "auto" => Some(Mode::Never),
            "sync-first" => Some(Mode::First),
            _ => How::named(name).map(Mode::After),
        }
    }
}

impl Call {
    /// Return the call that a command asks for. None if it is not a call of a consumer, `Some(None)` if it lacks a field.
    pub fn parse(cmd: &str, fields: &Map<String, Value>) -> Option<Option<Call>> {
        let what = match cmd {
            "subscribe" => subscribe(fields),
            "assign" => assign(fields),
            "unsubscribe" => Some(What::Unsubscribe),
            "seek" => fields.get("position").and_then(position).map(What::Seek),
            "pause" => places(fields).map(What::Pause),
            "resume" => places(fields).map(What::Resume),
            "commit" => How::named(text(fields, "how", "sync")).map(What::Commit),
            "attempt" => attempt(fields),
            "process" => milliseconds(fields.get("processing_ms")).map(What::Process),
            "throw" => throw(fields),
            "wakeup" => Some(What::Wakeup),
            _ => return None,
        };
        let id = number(fields, "id");
        Some(id.zip(what).map(|(id, what)| Call {
            id,
            cmd: cmd.to_owned(),
            what,
        }))
    }
}

fn subscribe(fields: &Map<String, Value>) -> Option<What> {
    let topics = match fields.get("topics") {
        Some(topics) => serde_json::from_value(topics.clone()).ok()?,
        None => Vec::new(),
    };
    let pattern = fields.get("pattern").cloned().unwrap_or_default();
    Some(What::Subscribe {
        topics,
        pattern: serde_json::from_value(pattern).ok()?,
        turns: turns(fields)?,
    })
}

fn assign(fields: &Map<String, Value>) -> Option<What> {
    Some(What::Assign {
        positions: positions(fields.get("partitions")?)?,
        turns: turns(fields)?,
    })
}

fn attempt(fields: &Map<String, Value>) -> Option<What> {
    match fields.get("call")?.as_str()? {
        "poll" => Some(What::AttemptPoll),
        "assign" => positions(fields.get("partitions")?).map(What::AttemptAssign),
        _ => None,
    }
}

fn throw(fields: &Map<String, Value>) -> Option<What> {
    Some(What::Throw {
        callback: fields.get("callback")?.as_str()?.to_owned(),
        times: fields.get("times").map_or(Some(1), Value::as_u64)?,
    })
}

fn turns(fields: &Map<String, Value>) -> Option<Turns> {
    let processing = fields.get("processing_ms");
    Some(Turns {
        mode: Mode::named(text(fields, "commit", "none"))?,
        processing: processing.map_or(Some(Duration::ZERO), |ms| milliseconds(Some(ms)))?,
    })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str, default: &'a str) -> &'a str {
    fields
        .get(name)
        .map_or(default, |value| value.as_str().unwrap_or_default())
}

fn milliseconds(value: Option<&Value>) -> Option<Duration> {
    value?.as_u64().map(Duration::from_millis)
}

fn places(fields: &Map<String, Value>) -> Option<Vec<Place>> {
    fields
        .get("partitions")?
        .as_array()?
        .iter()
        .map(place)
        .collect()
}

fn positions(values: &Value) -> Option<Vec<Position>> {
    values.as_array()?.iter().map(position).collect()
}

fn position(value: &Value) -> Option<Position> {
    Some(Position {
        place: place(value)?,
        offset: value.get("offset").map_or(Some(LATEST), Value::as_i64)?,
    })
}

fn place(value: &Value) -> Option<Place> {
    Some(Place {
        topic: value.get("topic")?.as_str()?.to_owned(),
        partition: i32::try_from(value.get("partition")?.as_i64()?).ok()?,
    })
}
