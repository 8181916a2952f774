"""Controls of broker faults on real brokers. They form a package, so that its fixtures end with it."""
