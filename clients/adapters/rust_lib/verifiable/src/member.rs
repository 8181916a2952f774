//! The poll loop of an application that consumes: it polls, works, commits, and makes calls between two turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::time::Duration;

use crate::application::Application;
use crate::calls::{Call, How, Mode, Turns, What};
use crate::closing::Closing;
use crate::consumer::{ConsumerAdapter, Done, Failure, Position};
use crate::output::Output;

/// What a client that does not declare the feature cannot do.
const NEEDS: [(&str, &str); 8] = [
    ("subscribe", "group"),
    ("assign", "assign"),
    ("seek", "seek"),
    ("pause", "pause"),
    ("resume", "pause"),
    ("wakeup", "wakeup"),
    ("attempt", "attempt"),
    ("pattern", "pattern"),
];
const POLL_TIMEOUT: Duration = Duration::from_millis(100);

/// It keeps a client whose poll or commit fails at once from events without end.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// What the program asks of the loop.
pub(crate) enum Asked {
    Call(Call),
    /// Close the client within the time, and tell whether it is done. It is the last one.
    Close(Duration, Sender<bool>),
}

/// The loop, on a thread of its own. After a signal, `hurried`, queued calls are not made.
pub(crate) struct Member {
    pub application: Application,
    pub output: Arc<Output>,
    pub closing: Arc<Closing>,
    pub hurried: Arc<AtomicBool>,
    pub features: Vec<&'static str>,
}

impl Member {
    /// Poll and make calls until the client is closed.
    pub fn run(&self, asked: &Receiver<Asked>) {
        let mut polls = false;
        loop {
            let next = if polls {
                asked.try_recv()
            } else {
                asked.recv().map_err(|_| TryRecvError::Disconnected)
            };
            match next {
                Ok(Asked::Close(timeout, done)) => {
                    let _ = done.send(self.consumer().close(timeout));
                    return;
                }
                Ok(Asked::Call(_)) if self.hurried.load(Ordering::Relaxed) => {}
                Ok(Asked::Call(call)) => self.answer(&call, &mut polls),
                Err(TryRecvError::Empty) => self.turn(),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Interrupt the poll in progress or the next one, on the thread that asks.
    pub fn wake(&self, call: &Call) {
        self.answer(call, &mut false);
    }

    fn turn(&self) {
        let polled = self.consumer().poll(POLL_TIMEOUT);
        let dropped = self.application.work();
        self.go_back(&dropped);
        let failed = self.survived("poll", &polled);
        if failed || !dropped.is_empty() {
            self.closing.wait(AFTER_ERROR);
        }
    }

    /// Set the positions. If the client cannot, the records are dropped.
    fn go_back(&self, positions: &[Position]) {
        if !self.offers("seek") {
            return;
        }
        for position in positions {
            self.survived("seek", &self.consumer().seek(position));
        }
    }

    /// Report the error of a call, if it has one.
    fn survived(&self, call: &str, done: &Done) -> bool {
        let Err(Failure::Error(error)) = done else {
            return false;
        };
        self.application.survived(call, error);
        true
    }

    fn answer(&self, call: &Call, polls: &mut bool) {
        let (id, cmd) = (call.id, call.cmd.as_str());
        if !self.can(call) {
            return self.output.unsupported(id, cmd);
        }
        let invoke_ns = self.output.invoke(cmd, id);
        match self.make(&call.what, polls) {
            Ok(()) => self.output.complete(cmd, id, invoke_ns, None),
            Err(Failure::Unsupported) => self.output.unsupported(id, cmd),
            Err(Failure::Error(error)) => {
                if cmd != "commit" {
                    self.application.survived(cmd, &error); // a commit is reported with its result
                }
                self.output.complete(cmd, id, invoke_ns, Some(&error.name));
            }
        }
    }

    /// Whether the client can do it, as far as its adapter says so beforehand.
    fn can(&self, call: &Call) -> bool {
        let commits = |how: How| how == How::Sync || self.consumer().commits_async();
        let turns = |turns: &Turns| !matches!(turns.mode, Mode::After(how) if !commits(how));
        let more = match &call.what {
            What::Subscribe {
                pattern: Some(_), ..
            } if !self.offers("pattern") => false,
            What::Subscribe { turns: its, .. } | What::Assign { turns: its, .. } => turns(its),
            What::Commit(how) => commits(*how),
            What::Throw { callback, .. } => self.consumer().throws().contains(&callback.as_str()),
            _ => true,
        };
        more && self.offers(&call.cmd)
    }

    fn offers(&self, what: &str) -> bool {
        let needed = NEEDS.iter().find(|(name, _)| *name == what);
        needed.is_none_or(|(_, feature)| self.features.contains(feature))
    }

    fn make(&self, what: &What, polls: &mut bool) -> Done {
        let (application, consumer) = (&self.application, self.consumer());
        match what {
            What::Subscribe {
                topics,
                pattern,
                turns,
            } => {
                self.begin(turns);
                consumer.subscribe(topics, pattern.as_deref())?;
                *polls = true;
            }
            What::Assign { positions, turns } => {
                self.begin(turns);
                consumer.assign(positions)?;
                *polls = true;
            }
            What::Unsubscribe => {
                *polls = false;
                consumer.unsubscribe()?;
                application.forget_all();
            }
            What::Seek(position) => {
                consumer.seek(position)?;
                application.forget(std::slice::from_ref(&position.place));
            }
            What::Pause(places) => consumer.pause(places)?,
            What::Resume(places) => consumer.resume(places)?,
            What::Commit(how) => application.commit_processed(*how)?,
            What::AttemptPoll => {
                let polled = consumer.poll(POLL_TIMEOUT);
                application.work();
                polled?;
            }
            What::AttemptAssign(positions) => consumer.assign(positions)?,
            What::Process(processing) => application.process_for(*processing),
            What::Throw { callback, times } => application.fail_in(callback, *times),
            What::Wakeup => consumer.wakeup()?,
        }
        Ok(())
    }

    fn begin(&self, turns: &Turns) {
        self.application.begin(turns.mode, turns.processing);
    }

    fn consumer(&self) -> &dyn ConsumerAdapter {
        self.application.consumer()
    }
}
