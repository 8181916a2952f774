"""The reference client's shell: real sockets, one I/O thread, locks and futures around the core."""
