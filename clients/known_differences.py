"""Documented differences of clients from Java's client: the list of known failures called ``known``."""

from importlib.resources import files

KNOWN = files("clients") / "known_differences.toml"
