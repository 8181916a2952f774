//! SIGTERM and SIGINT, which ask to close. They are blocked everywhere, and one thread waits for them.

use std::mem::MaybeUninit;

/// Keep both from the calling thread, and from those that it will start: to be called before there are any.
pub(crate) fn block() {
    let asking = asking();
    // SAFETY: the set is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &asking, std::ptr::null_mut()) };
}

/// Return when one of them has come.
pub(crate) fn wait() {
    let mut number = 0;
    // SAFETY: the set is initialised, and the number is ours.
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
