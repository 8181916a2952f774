"""Where clients differ from Java and say so themselves: the list of known failures called ``known``."""

from importlib.resources import files

KNOWN = files("clients") / "known_differences.toml"
