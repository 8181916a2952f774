//! The output: numbered events on a private stdout, and the results of sends grouped into columns.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{json, Value};

use crate::clock::{monotonic_ns, wall_ns};

const RESULTS_MAX_ROWS: usize = 500;

/// One result of a send.
pub(crate) struct Row {
    pub outcome: &'static str,
    pub error: Option<String>,
    pub invoke_ns: i64,
    pub complete_ns: i64,
    pub record: i64,
    pub partition: i64,
    pub offset: i64,
}

/// Writes events, numbered without gaps, to a private copy of stdout. All other output there goes to stderr.
///
/// Code under its locks cannot panic, because a panic is reported through them.
pub(crate) struct Output {
    lines: Mutex<Lines>,
    /// Results that are not written yet, by the command to which they belong.
    rows: Mutex<BTreeMap<i64, Vec<Row>>>,
    pub sent: AtomicU64,
    completed: AtomicU64,
}

struct Lines {
    stdout: File,
    seq: u64,
    ended: bool,
}

impl Output {
    pub fn new() -> io::Result<Output> {
        let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // SAFETY: both are descriptors of this process, and nothing has been printed yet.
        if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Output {
            lines: Mutex::new(Lines {
                stdout,
                seq: 0,
                ended: false,
            }),
            rows: Mutex::default(),
            sent: AtomicU64::new(0),
            completed: AtomicU64::new(0),
        })
    }

    /// Write one event.
    pub fn event(&self, name: &str, fields: Value) {
        self.write(name, fields, false);
    }

    /// Write the last event. Nothing is written after it.
    pub fn last_event(&self, name: &str, fields: Value) {
        self.write(name, fields, true);
    }

    /// Report a fatal error, and exit at once: the client's threads may not be stoppable.
    pub fn fatal(&self, error: &str, message: &str, exit_code: i32) -> ! {
        self.write_results();
        self.last_event("fatal", json!({"error": error, "message": message}));
        exit(exit_code)
    }

    /// Store one result of a command. Its line is written later, or now if it is full.
    pub fn add_result(&self, id: i64, row: Row) {
        self.completed.fetch_add(1, Ordering::Relaxed);
        let mut kept = locked(&self.rows);
        let rows = kept.entry(id).or_default();
        rows.push(row);
        if rows.len() >= RESULTS_MAX_ROWS {
            let full = mem::take(rows);
            kept.remove(&id);
            self.event("op_complete", columns(id, &full));
        }
    }

    /// Write all stored results.
    pub fn write_results(&self) {
        let mut kept = locked(&self.rows);
        for (id, rows) in mem::take(&mut *kept) {
            self.event("op_complete", columns(id, &rows));
        }
    }

    /// Write that a command begins, and return when.
    pub fn invoke(&self, op: &str, id: i64) -> i64 {
        self.event("op_invoke", json!({"op": op, "id": id}));
        monotonic_ns()
    }

    /// Write the one result of a command. Without an error, it is ok.
    pub fn complete(&self, op: &str, id: i64, invoke_ns: i64, error: Option<&str>) {
        let outcome = if error.is_none() { "ok" } else { "fail" };
        let fields = json!({
            "op": op,
            "id": id,
            "outcome": [outcome],
            "error": [error],
            "invoke_ns": [invoke_ns],
            "complete_ns": [monotonic_ns()],
        });
        self.event("op_complete", fields);
    }

    /// Write that the client cannot execute a command.
    pub fn unsupported(&self, id: i64, cmd: &str) {
        self.event("unsupported", json!({"id": id, "cmd": cmd}));
    }

    /// Write the heartbeat.
    pub fn beat(&self) {
        let sent = self.sent.load(Ordering::Relaxed);
        let completed = self.completed.load(Ordering::Relaxed);
        self.event("stats", json!({"sent": sent, "completed": completed}));
    }

    fn write(&self, name: &str, mut event: Value, last: bool) {
        let mut lines = locked(&self.lines);
        if lines.ended {
            return;
        }
        lines.ended = last;
        event["name"] = name.into();
        event["seq"] = lines.seq.into();
        event["mono_ns"] = monotonic_ns().into();
        event["wall_ns"] = wall_ns().into();
        let mut line = event.to_string();
        line.push('\n');
        if lines.stdout.write_all(line.as_bytes()).is_err() {
            exit(1); // the harness has exited, so nothing reads the events
        }
        lines.seq += 1;
    }
}

/// Exit at once, without stopping the client's threads.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: always safe, since it does not return.
    unsafe { libc::_exit(code) }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn columns(id: i64, rows: &[Row]) -> Value {
    fn column<'a, T: Into<Value>>(rows: &'a [Row], field: impl Fn(&'a Row) -> T) -> Value {
        rows.iter().map(field).map(Into::into).collect()
    }
    json!({
        "op": "send",
        "id": id,
        "outcome": column(rows, |row| row.outcome),
        "error": column(rows, |row| row.error.clone()),
        "invoke_ns": column(rows, |row| row.invoke_ns),
        "complete_ns": column(rows, |row| row.complete_ns),
        "records": column(rows, |row| row.record),
        "partition": column(rows, |row| row.partition),
        "offset": column(rows, |row| row.offset),
    })
}
