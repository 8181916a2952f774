"""Documented differences of clients from Java's client: the list of known failures called ``known``."""

from importlib.resources import files

KNOWN = files(__package__) / "known_differences.toml"
