//! A program whose client consumes three records of each of two partitions. Its features are the words of its command.
//!
//! With the setting `unlucky`, the first commit fails. The setting `revokes` is a number of records: after a poll has
//! delivered so many, the client revokes partition 1 in the middle of it.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use verifiable::{
    About, Adapter, Application, ClientError, CommitResult, ConfigRefused, ConsumerAdapter, Done,
    Place, Position, Record, RecordResult, Settings,
};

const END: i64 = 3;

struct Tiny;

impl Adapter for Tiny {
    fn about() -> About {
        let words: Vec<String> = std::env::args().skip(1).collect();
        About {
            client: "tiny",
            client_version: "1.0.0".to_owned(),
            library_version: None,
            language: "rust",
            features: words.into_iter().map(|word| &*word.leak()).collect(),
        }
    }

    fn configure(_: &Map<String, Value>) -> Result<(Self, Settings), ConfigRefused> {
        Ok((Tiny, Settings::default()))
    }

    fn send(&mut self, _: &str, _: Option<&str>, _: &str, _: Option<i32>, result: RecordResult) {
        result.info("NotSent");
    }

    fn flush(&mut self, _: Duration) -> bool {
        true
    }

    fn close(self, _: Duration) -> bool {
        true
    }
}

struct TinyConsumer {
    application: Application,
    revokes: Option<usize>,
    state: Mutex<State>,
    woken: Condvar,
}

struct State {
    next: [i64; 2],
    owned: usize,
    is_woken: bool,
    is_unlucky: bool,
}

impl ConsumerAdapter for TinyConsumer {
    fn configure(
        config: &Map<String, Value>,
        _: &BTreeMap<String, String>,
        application: Application,
    ) -> Result<(Self, Settings), ConfigRefused> {
        let revokes = config.get("revokes").and_then(Value::as_u64);
        let consumer = TinyConsumer {
            application,
            revokes: revokes.map(|count| count as usize),
            state: Mutex::new(State {
                next: [0, 0],
                owned: 2,
                is_woken: false,
                is_unlucky: config.contains_key("unlucky"),
            }),
            woken: Condvar::new(),
        };
        Ok((consumer, Settings::default()))
    }

    fn subscribe(&self, _: &[String], _: Option<&str>) -> Done {
        let assigned = self
            .application
            .assigned(&[place(0), place(1)], Some(7), "m");
        assigned.map_err(|why| error("ListenerFailed", &why).into())
    }

    fn unsubscribe(&self) -> Done {
        Ok(())
    }

    fn seek(&self, at: &Position) -> Done {
        self.state.lock().unwrap().next[at.place.partition as usize] = at.offset;
        Ok(())
    }

    /// It delivers two records of each partition, or waits for a wakeup.
    fn poll(&self, timeout: Duration) -> Done {
        for _ in 0..2 {
            for partition in 0..2 {
                self.deliver(partition);
            }
        }
        if self.application.taken() > 0 {
            return Ok(());
        }
        let sleeping = |state: &mut State| !state.is_woken;
        let state = self.state.lock().unwrap();
        let (mut state, _) = self
            .woken
            .wait_timeout_while(state, timeout, sleeping)
            .unwrap();
        if std::mem::take(&mut state.is_woken) {
            return Err(error("Woken", "from another thread").into());
        }
        Ok(())
    }

    fn commit(&self, _: &[Position]) -> Done {
        match std::mem::take(&mut self.state.lock().unwrap().is_unlucky) {
            true => Err(error("Unlucky", "the first one fails").into()),
            false => Ok(()),
        }
    }

    fn commit_async(&self, _: &[Position], result: CommitResult) -> Done {
        std::thread::spawn(|| result.failed("Late"));
        Ok(())
    }

    fn commits_async(&self) -> bool {
        true
    }

    fn wakeup(&self) -> Done {
        self.state.lock().unwrap().is_woken = true;
        self.woken.notify_all();
        Ok(())
    }

    fn throws(&self) -> &[&str] {
        &["assigned"]
    }

    fn close(&self, _: Duration) -> bool {
        true
    }
}

impl TinyConsumer {
    fn deliver(&self, partition: usize) {
        let offset = {
            let mut state = self.state.lock().unwrap();
            if partition >= state.owned || state.next[partition] >= END {
                return;
            }
            state.next[partition] += 1;
            state.next[partition] - 1
        };
        self.application.take(&Record {
            topic: "t",
            partition: partition as i32,
            offset,
            key: None,
            value: Some(b"v"),
            leader_epoch: (partition == 0).then_some(4),
        });
        if self.revokes == Some(self.application.taken()) {
            self.application.work_first();
            let _ = self.application.revoked(&[place(1)]);
            self.state.lock().unwrap().owned = 1;
        }
    }
}

fn place(partition: i32) -> Place {
    let topic = "t".to_owned();
    Place { topic, partition }
}

fn error(name: &str, message: &str) -> ClientError {
    ClientError {
        name: name.to_owned(),
        message: message.to_owned(),
        retriable: Some(false),
    }
}

fn main() {
    verifiable::run_with_consumer::<Tiny, TinyConsumer>()
}
