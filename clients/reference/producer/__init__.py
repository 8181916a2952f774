"""The producer: accumulator, batches, sender, idempotence."""
