//! SIGTERM and SIGINT, which request a close. They are blocked in all threads, and one thread waits for them.

use std::mem::MaybeUninit;

/// Block both in the calling thread and in those that it will start. Call it before there are other threads.
pub(crate) fn block() {
    let asking = asking();
    // SAFETY: the set is initialised, and the old mask is not requested.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &asking, std::ptr::null_mut()) };
}

/// Wait until one of them arrives.
pub(crate) fn wait() {
    let mut number = 0;
    // SAFETY: the set is initialised, and the pointer is to a local number.
    unsafe { libc::sigwait(&asking(), &mut number) };
}

fn asking() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set; the numbers are valid.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        set.assume_init()
    }
}
