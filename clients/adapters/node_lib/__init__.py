"""The contract library for Node clients. ``verifiable/`` is copied into their programs' folders."""
