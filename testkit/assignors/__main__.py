"""``python -m testkit.assignors --seed 1 --count 1000``: compare with Java. Exit code 1 for a difference."""

from __future__ import annotations

import argparse
import sys

from clients.reference.consumer.assignors import ASSIGNORS
from testkit.assignors.compare import Figures, compare
from testkit.assignors.java_side import JavaAssignors


def main(argv: list[str]) -> int:
    """Print a line per assignor, after its differences, and return the exit code."""
    parser = argparse.ArgumentParser(prog="testkit.assignors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000, help="assignments per assignor")
    given = parser.parse_args(argv)
    differ = False
    with JavaAssignors() as java:
        for assignor in ASSIGNORS:
            figures = compare(java, assignor, given.seed, given.count)
            sys.stdout.write("".join(f"{difference}\n" for difference in figures.differences))
            sys.stdout.write(told(figures, java.version) + "\n")
            differ |= bool(figures.differences)
    return 1 if differ else 0


def told(figures: Figures, version: str) -> str:
    """Return the line of an assignor."""
    excused = sum(figures.excused.values())
    text = (
        f"{figures.assignor} x {version}: {figures.assignments} assignments of {figures.groups} groups and"
        f" {figures.encodings} encodings compared, {len(figures.differences)} differences;"
        f" {figures.assignments - excused} assignments byte for byte, {excused} by their promises"
    )
    named = [f"{name}: {count}" for name, count in sorted(figures.excused.items())]
    named += [f"picks by Java's hash set: {figures.hash_choices}"] if figures.hash_choices else []
    return "; ".join([text, *named])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
