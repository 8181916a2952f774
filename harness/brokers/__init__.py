from harness.wire import kio_types as kio_types
