"""The reference consumer: ConsumerCore and its components, without I/O."""
