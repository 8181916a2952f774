"""Resolve clients as their registries do today, and write the resulting packages of each version with their hashes.

``python scripts/lock_clients.py NAME...`` (all clients without a name) locks the tested versions that have no lock yet.
``--again`` also replaces existing locks. Review the changes before you commit them.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.model.errors import KafkaTrialError
from harness.plugins import registry


def main() -> int:
    """Lock the requested versions. Return 3 if some of them could not be locked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    kinds = {name: kind for name, kind in registry.table("clients").items() if hasattr(kind, "lock")}
    failed = False
    for name in options.names or kinds:
        kind = kinds[name]
        for version in kind.versions:
            folder = kind.locks / version
            if folder.exists() and not options.again:
                continue
            logging.info("locking %s %s", name, version)
            with TemporaryDirectory() as made:
                try:
                    kind.lock(version, Path(made))
                except KafkaTrialError as error:
                    logging.error("%s %s: %s", name, version, error)
                    failed = True
                else:
                    shutil.copytree(made, folder, dirs_exist_ok=True)
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
