"""Does not report one of the settings."""

from __future__ import annotations

from polite import Polite
from verifiable import run


class Broken(Polite):
    def configure(self, config):
        applied, not_set = super().configure(config)
        del applied["linger.ms"]
        return applied, not_set


if __name__ == "__main__":
    run(Broken)
