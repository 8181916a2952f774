//! The two clocks of an event. `Instant` only exposes differences, and the harness compares processes.

use std::time::{SystemTime, UNIX_EPOCH};

/// The system's `CLOCK_MONOTONIC`, the common time base of clients, witness and faults.
pub(crate) fn monotonic_ns() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local timespec. The call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

pub(crate) fn wall_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
}
