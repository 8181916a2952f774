"""The contract library for Rust programs: the package ``verifiable`` in this folder."""
