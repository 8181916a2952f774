"""The reference client's transport: real sockets, one I/O thread, locks and futures around the core."""
