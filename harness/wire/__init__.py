"""Kafka's wire format: decode bytes into values and encode values into bytes.

The package is pure: it does no I/O, reads no clock and uses no random numbers.

The layers, from the outside in: :mod:`~harness.wire.frames` (the size before each message),
:mod:`~harness.wire.headers` (the request and response headers), :mod:`~harness.wire.messages` (the message bodies, as
kio's classes) and :mod:`~harness.wire.records` (the record batches inside Produce and Fetch). Three further modules:
:mod:`~harness.wire.apis` (API names and keys), :mod:`~harness.wire.versions` (version negotiation) and
:mod:`~harness.wire.error_table` (the meaning of each error code, above all for the fate of a record).

Each message class has its own reader and writer function, compiled from the field descriptions of kio's class
(:mod:`~harness.wire.schema`, :mod:`~harness.wire.readers`, :mod:`~harness.wire.writers`). These functions need to be
fast because a simulated trial spends most of its time in them. Code that creates many messages should keep a
:func:`~harness.wire.makers.maker` for each class.

For any input bytes, a reader of this package either returns a value or raises :class:`~harness.wire.errors.WireError`.
Any other exception is a bug. The harness depends on this because it injects hostile bytes on purpose.
"""

from harness.wire import kio_types as kio_types
