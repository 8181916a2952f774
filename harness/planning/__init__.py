"""Turn a user's request into a plan of trials that can be run."""

from harness.wire import kio_types as kio_types
