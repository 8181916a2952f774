"""Configuration: settings under their Java names, parsed and validated."""
