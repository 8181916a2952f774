"""Kafka's wire format: bytes in, values out, and back. Pure: no I/O, no clock, no dice.

The layers, from the outside in: :mod:`~harness.wire.frames` (a size before each message),
:mod:`~harness.wire.headers` (whose message), :mod:`~harness.wire.messages` (the message: kio's classes),
:mod:`~harness.wire.records` (the record batches inside Produce and Fetch). Beside them :mod:`~harness.wire.apis`
(names and keys), :mod:`~harness.wire.versions` (which version to speak) and :mod:`~harness.wire.error_table`
(what an error code means, above all for a record's fate).

A message is read and written by a function of its own, compiled from what kio's class says of its fields
(:mod:`~harness.wire.schema`, :mod:`~harness.wire.readers`, :mod:`~harness.wire.writers`): a simulated trial is
mostly this. Who makes messages in numbers keeps a :func:`~harness.wire.makers.maker` for each class.

Whatever bytes come in, a reader here answers with a value or raises :class:`~harness.wire.errors.WireError`:
any other exception is a defect of ours. The harness lives by that, for it injects hostile bytes on purpose.
"""
