"""The contract library for programs in Rust: the package ``verifiable`` beside this file."""
