//! The lifecycle of one client process: startup, configure, produce and flush, close.
//!
//! One thread reads commands, one waits for signals, the main thread executes the commands (only it calls the
//! adapter), and one writes results and the heartbeat, so that a client stuck in a call still sends it. The calls of a
//! consumer are made on one more thread, which polls between them (`member`). A defect of the program itself ends the
//! process with a `fatal` event: exit code 2 for a line that is not a command, else 1.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{json, Map, Value};

use crate::application::Application;
use crate::calls::{Call, What};
use crate::closing::Closing;
use crate::commands::{Command, Produce};
use crate::member::{Asked, Member};
use crate::output::{exit, Output};
use crate::{signals, Adapter, ConfigRefused, ConsumerAdapter, RecordResult, Settings};

const CONTRACT_VERSION: u32 = 2;
const RESULTS_INTERVAL: Duration = Duration::from_millis(20);
const STATS_INTERVAL: Duration = Duration::from_secs(1);
const FLUSH_SLICE: Duration = Duration::from_millis(200);
const SHOWN_OF_A_BAD_LINE: usize = 200;

/// How long after its timeout the close of a consumer may still return before it is abandoned.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

type Config = Map<String, Value>;
type Own = BTreeMap<String, String>;
type MakeConsumer =
    fn(&Config, &Own, Application) -> Result<(Box<dyn ConsumerAdapter>, Settings), ConfigRefused>;

/// Run the program of a client that only produces, and exit.
pub fn run<A: Adapter>() -> ! {
    start::<A>(None)
}

/// Run the program of a client that produces or, if the harness asks for that, consumes. Exit.
pub fn run_with_consumer<A: Adapter, C: ConsumerAdapter + 'static>() -> ! {
    start::<A>(Some(|config, own, application| {
        let (consumer, settings) = C::configure(config, own, application)?;
        Ok((Box::new(consumer), settings))
    }))
}

fn start<A: Adapter>(make_consumer: Option<MakeConsumer>) -> ! {
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
        make_consumer,
        role: Role::Unset,
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

/// Executes the commands.
struct Program<A> {
    output: Arc<Output>,
    hurried: Arc<AtomicBool>,
    make_consumer: Option<MakeConsumer>,
    role: Role<A>,
}

/// What the process is from `configure` on.
enum Role<A> {
    Unset,
    Producer(A),
    Consumer(Consumer),
}

/// The application's thread, and what it is asked to do.
struct Consumer {
    member: Arc<Member>,
    asked: Sender<Asked>,
}

impl<A: Adapter> Program<A> {
    fn obey(mut self, commands: &Receiver<Command>) {
        for command in commands {
            match command {
                Command::Unknown { id, cmd } => self.output.unsupported(id, &cmd),
                Command::Close { id, timeout } => return self.close(id, timeout),
                _ if self.hurried.load(Ordering::Relaxed) => {}
                Command::Configure {
                    id,
                    consumes,
                    config,
                    own,
                } => self.configure(id, consumes, &config, &own),
                Command::Produce(produce) => self.produce(&produce),
                Command::Call(call) => self.call(call),
                Command::Flush { id, timeout } => self.flush(id, timeout),
            }
        }
    }

    fn configure(&mut self, id: i64, consumes: bool, config: &Config, own: &Own) {
        if !matches!(self.role, Role::Unset) {
            self.output.fatal("OutOfOrder", "configured twice", 1);
        }
        if !consumes {
            let configured = A::configure_with(config, own);
            self.role = Role::Producer(self.told(id, configured));
        } else if let Some(make) = self.make_consumer {
            let member = Arc::new(self.member());
            let configured = make(config, own, member.application.clone());
            member.application.uses(self.told(id, configured));
            let (asked, calls) = mpsc::channel();
            let polling = Arc::clone(&member);
            thread::spawn(move || polling.run(&calls));
            self.role = Role::Consumer(Consumer { member, asked });
        } else {
            self.output.unsupported(id, "configure");
        }
    }

    fn member(&self) -> Member {
        let closing = Arc::new(Closing::default());
        Member {
            application: Application::new(&self.output, &closing),
            output: Arc::clone(&self.output),
            closing,
            hurried: Arc::clone(&self.hurried),
            features: A::about().features,
        }
    }

    /// Report how the client was configured, and return it.
    fn told<T>(&self, id: i64, configured: Result<(T, Settings), ConfigRefused>) -> T {
        match configured {
            Ok((client, settings)) => {
                let fields = json!({
                    "id": id,
                    "applied": settings.applied,
                    "not_set": settings.not_set,
                    "client_not_set": settings.client_not_set,
                });
                self.output.event("configured", fields);
                client
            }
            Err(ConfigRefused(why)) => self.output.fatal("ConfigRefused", &why, 1),
        }
    }

    fn call(&self, call: Call) {
        let Role::Consumer(consumer) = &self.role else {
            return self.output.unsupported(call.id, &call.cmd);
        };
        if matches!(call.what, What::Wakeup) {
            consumer.member.wake(&call); // the application's thread may be what it wakes up
        } else {
            let _ = consumer.asked.send(Asked::Call(call));
        }
    }

    fn produce(&mut self, produce: &Produce) {
        let (id, first, count) = (produce.id, produce.first, produce.values.len());
        let adapter = match &mut self.role {
            Role::Producer(adapter) => adapter,
            Role::Consumer(_) => return self.output.unsupported(id, "produce"),
            Role::Unset => self
                .output
                .fatal("OutOfOrder", "produce before configure", 1),
        };
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
        let adapter = match &mut self.role {
            Role::Producer(adapter) => adapter,
            Role::Consumer(_) => return self.output.unsupported(id, "flush"),
            Role::Unset => self.output.fatal("OutOfOrder", "flush before configure", 1),
        };
        let invoke_ns = self.output.invoke("flush", id);
        let deadline = Instant::now() + timeout;
        let mut done = false;
        while !done && !self.hurried.load(Ordering::Relaxed) && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            done = adapter.flush(left.min(FLUSH_SLICE));
        }
        complete(&self.output, "flush", id, invoke_ns, done);
    }

    fn close(self, id: i64, timeout: Duration) {
        let Program { output, role, .. } = self;
        let invoke_ns = output.invoke("close", id);
        let done = match role {
            Role::Unset => true,
            Role::Producer(adapter) => adapter.close(timeout),
            Role::Consumer(consumer) => consumer.close(timeout),
        };
        complete(&output, "close", id, invoke_ns, done);
        output.last_event("shutdown_complete", json!({}));
    }
}

impl Consumer {
    /// Close the client after the calls before. Abandon it if it does not return in time.
    fn close(&self, timeout: Duration) -> bool {
        let (done, closed) = mpsc::channel();
        let _ = self.asked.send(Asked::Close(timeout, done));
        self.member.closing.request();
        closed
            .recv_timeout(timeout + CLOSE_GRACE)
            .unwrap_or_else(|_| {
                eprintln!("the client did not return from close");
                false
            })
    }
}

fn complete(output: &Output, op: &str, id: i64, invoke_ns: i64, done: bool) {
    output.write_results();
    let error = (!done).then_some("the client is not done");
    output.complete(op, id, invoke_ns, error);
}
