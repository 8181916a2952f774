//! The result of one record: three outcomes, of which a client can give one, once.

use std::sync::Arc;

use crate::clock::monotonic_ns;
use crate::output::{Output, Row};

const NOT_KNOWN: i64 = -1;

/// The place where the result of one record is put; made just before the record is handed to the client.
pub struct RecordResult {
    output: Arc<Output>,
    id: i64,
    n: i64,
    invoke_ns: i64,
}

impl RecordResult {
    pub(crate) fn new(output: &Arc<Output>, id: i64, n: i64) -> RecordResult {
        let output = Arc::clone(output);
        let invoke_ns = monotonic_ns();
        RecordResult {
            output,
            id,
            n,
            invoke_ns,
        }
    }

    /// Certainly written; offset -1 if the client does not know it.
    pub fn ok(self, partition: i32, offset: i64) {
        self.put("ok", None, partition.into(), offset);
    }

    /// Certainly not written, and never will be.
    pub fn fail(self, error: impl Into<String>) {
        self.put("fail", Some(error.into()), NOT_KNOWN, NOT_KNOWN);
    }

    /// Given up: nobody knows whether it was written.
    pub fn info(self, error: impl Into<String>) {
        self.put("info", Some(error.into()), NOT_KNOWN, NOT_KNOWN);
    }

    fn put(self, outcome: &'static str, error: Option<String>, partition: i64, offset: i64) {
        let row = Row {
            outcome,
            error,
            invoke_ns: self.invoke_ns,
            complete_ns: monotonic_ns(),
            record: self.n,
            partition,
            offset,
        };
        self.output.add_result(self.id, row);
    }
}
