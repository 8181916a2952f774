//! The lifecycle of one client process: startup, configure, produce and flush, close.
//!
//! One thread reads commands, one waits for signals, the main thread executes the commands (only it calls the
//! adapter), and one writes results and the heartbeat, so that a client stuck in a call still sends it. A defect of the
//! program itself ends the process with a `fatal` event: exit code 2 for a line that is not a command, else 1.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Map, Value};

use crate::clock::monotonic_ns;
use crate::commands::{Command, Produce};
use crate::output::{exit, Output};
use crate::{signals, Adapter, ConfigRefused, RecordResult};

const CONTRACT_VERSION: u32 = 2;
const RESULTS_INTERVAL: Duration = Duration::from_millis(20);
const STATS_INTERVAL: Duration = Duration::from_secs(1);
const FLUSH_SLICE: Duration = Duration::from_millis(200);
const SHOWN_OF_A_BAD_LINE: usize = 200;

/// Run the program of one adapter, and exit.
pub fn run<A: Adapter>() -> ! {
    signals::block();
    let output = match Output::new() {
        Ok(output) => Arc::new(output),
        Err(error) => {
            eprintln!("stdout cannot be redirected: {error}");
            exit(1)
        }
    };
    let dying = Arc::clone(&output);
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("{panic}");
        dying.fatal("Panic", &panic.to_string(), 1)
    }));
    introduce::<A>(&output);

    // After a signal that requests a close, queued commands are not started.
    let hurried = Arc::new(AtomicBool::new(false));
    let (queue, commands) = mpsc::channel();
    let (reader, signalled) = (Arc::clone(&output), queue.clone());
    let hurry = Arc::clone(&hurried);
    thread::spawn(move || read(&reader, &queue));
    thread::spawn(move || loop {
        signals::wait();
        hurry.store(true, Ordering::Relaxed);
        let _ = signalled.send(Command::unasked_close());
    });
    let beating = Arc::clone(&output);
    thread::spawn(move || beat(&beating));
    Program::<A> {
        output,
        hurried,
        adapter: None,
    }
    .obey(&commands);
    exit(0)
}

fn introduce<A: Adapter>(output: &Output) {
    let about = A::about();
    let fields = json!({
        "client": about.client,
        "client_version": about.client_version,
        "library_version": about.library_version,
        "language": about.language,
        "features": about.features,
        "contract_version": CONTRACT_VERSION,
    });
    output.event("startup_complete", fields);
}

fn read(output: &Output, queue: &Sender<Command>) {
    for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
        let Some(command) = Command::parse(&line) else {
            let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN_OF_A_BAD_LINE)]);
            output.fatal("BadCommand", &format!("not a command: {shown}"), 2)
        };
        let _ = queue.send(command);
    }
    let _ = queue.send(Command::unasked_close());
}

fn beat(output: &Output) {
    let mut next_stats = Instant::now() + STATS_INTERVAL;
    loop {
        thread::sleep(RESULTS_INTERVAL);
        output.write_results();
        if Instant::now() >= next_stats {
            next_stats = Instant::now() + STATS_INTERVAL;
            output.beat();
        }
    }
}

/// Executes the commands. It has an adapter from `configure` to `close`.
struct Program<A> {
    output: Arc<Output>,
    hurried: Arc<AtomicBool>,
    adapter: Option<A>,
}

impl<A: Adapter> Program<A> {
    fn obey(mut self, commands: &Receiver<Command>) {
        for command in commands {
            match command {
                Command::Unknown { id, cmd } => {
                    self.output
                        .event("unsupported", json!({"id": id, "cmd": cmd}));
                }
                Command::Close { id, timeout } => return self.close(id, timeout),
                _ if self.hurried.load(Ordering::Relaxed) => {}
                Command::Configure { id, config, own } => self.configure(id, &config, &own),
                Command::Produce(produce) => self.produce(&produce),
                Command::Flush { id, timeout } => self.flush(id, timeout),
            }
        }
    }

    fn configure(&mut self, id: i64, config: &Map<String, Value>, own: &BTreeMap<String, String>) {
        if self.adapter.is_some() {
            self.output.fatal("OutOfOrder", "configured twice", 1);
        }
        match A::configure_with(config, own) {
            Ok((adapter, settings)) => {
                self.adapter = Some(adapter);
                let (applied, not_set) = (settings.applied, settings.not_set);
                let fields = json!({
                    "id": id, "applied": applied, "not_set": not_set,
                    "client_not_set": settings.client_not_set,
                });
                self.output.event("configured", fields);
            }
            Err(ConfigRefused(why)) => self.output.fatal("ConfigRefused", &why, 1),
        }
    }

    fn produce(&mut self, produce: &Produce) {
        let Some(adapter) = &mut self.adapter else {
            self.output
                .fatal("OutOfOrder", "produce before configure", 1)
        };
        let (id, first, count) = (produce.id, produce.first, produce.values.len());
        let fields = json!({"op": "send", "id": id, "first": first, "count": count});
        self.output.event("op_invoke", fields);
        let keys = produce.keys.iter().map(Option::as_deref);
        let records = keys.zip(&produce.values).zip(&produce.partitions);
        for (n, ((key, value), partition)) in (first..).zip(records) {
            self.output.sent.fetch_add(1, Ordering::Relaxed);
            let result = RecordResult::new(&self.output, id, n);
            adapter.send(&produce.topic, key, value, *partition, result);
        }
    }

    fn flush(&mut self, id: i64, timeout: Duration) {
        let invoke_ns = invoke(&self.output, "flush", id);
        let Some(adapter) = &mut self.adapter else {
            self.output.fatal("OutOfOrder", "flush before configure", 1)
        };
        let deadline = Instant::now() + timeout;
        let mut done = false;
        while !done && !self.hurried.load(Ordering::Relaxed) && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            done = adapter.flush(left.min(FLUSH_SLICE));
        }
        complete(&self.output, "flush", id, invoke_ns, done);
    }

    fn close(self, id: i64, timeout: Duration) {
        let Program {
            output, adapter, ..
        } = self;
        let invoke_ns = invoke(&output, "close", id);
        let done = adapter.is_none_or(|adapter| adapter.close(timeout));
        complete(&output, "close", id, invoke_ns, done);
        output.last_event("shutdown_complete", json!({}));
    }
}

fn invoke(output: &Output, op: &str, id: i64) -> i64 {
    output.event("op_invoke", json!({"op": op, "id": id}));
    monotonic_ns()
}

fn complete(output: &Output, op: &str, id: i64, invoke_ns: i64, done: bool) {
    let complete_ns = monotonic_ns();
    output.write_results();
    let (outcome, error) = if done {
        ("ok", None)
    } else {
        ("fail", Some("the client is not done"))
    };
    let fields = json!({
        "op": op,
        "id": id,
        "outcome": [outcome],
        "error": [error],
        "invoke_ns": [invoke_ns],
        "complete_ns": [complete_ns],
    });
    output.event("op_complete", fields);
}
