//! Whether a close was requested, which ends what the application waits for.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::output::locked;

#[derive(Default)]
pub(crate) struct Closing {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Closing {
    pub fn request(&self) {
        *locked(&self.requested) = true;
        self.changed.notify_all();
    }

    /// Wait for `time`, or until a close is requested.
    pub fn wait(&self, time: Duration) {
        let requested = locked(&self.requested);
        let waited = self
            .changed
            .wait_timeout_while(requested, time, |requested| !*requested);
        drop(waited);
    }
}
