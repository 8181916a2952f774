"""The controls of brokers' faults on real ones: a package, so that what is started for it ends with it."""
