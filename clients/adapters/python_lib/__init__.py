"""The contract library for Python clients. Its folder is added to their path, not this package."""
