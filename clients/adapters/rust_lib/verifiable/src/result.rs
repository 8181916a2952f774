//! The result of one record: three outcomes, of which a client can report one, once.

use std::sync::Arc;

use crate::clock::monotonic_ns;
use crate::output::{Output, Row};

const NOT_KNOWN: i64 = -1;

/// Receives the result of one record. It is created just before the record is passed to the client.
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

    /// Certainly written. The offset is -1 if the client does not know it.
    pub fn ok(self, partition: i32, offset: i64) {
        self.put("ok", None, partition.into(), offset);
    }

    /// Certainly not written, and never will be.
    pub fn fail(self, error: impl Into<String>) {
        self.put("fail", Some(error.into()), NOT_KNOWN, NOT_KNOWN);
    }

    /// Given up. It is unknown whether the record was written.
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
