"""Has a defect in its configuration."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class Broken(Polite):
    def configure(self, config):
        return config["no.such.setting"]


if __name__ == "__main__":
    run(Broken)
