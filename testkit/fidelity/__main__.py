"""``python -m testkit.fidelity --plans 200``: compare and print the figures. Exit code 1 for a new difference."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from testkit.fidelity import classic_plans, consumer_plans, plans, reading_plans, transaction_plans
from testkit.fidelity.session import Figures, compare
from testkit.fidelity.steps import FidelityPlan

#: The kinds of plans, and how one is drawn from a seed, a version and a number of nodes.
KINDS: Final[Mapping[str, Callable[[int, str, int], FidelityPlan]]] = {
    "produce": plans.draw,
    "reading": reading_plans.draw,
    "classic": classic_plans.draw,
    "consumer": consumer_plans.draw,
    "transactions": transaction_plans.draw,
}


def main(argv: list[str]) -> int:
    """Run the comparison and return the exit code."""
    parser = argparse.ArgumentParser(prog="testkit.fidelity")
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--kind", default="produce", choices=tuple(KINDS), help="what the plans are about")
    parser.add_argument(
        "--outages", type=int, default=1, help="longer plans to produce with a node that stops and restarts"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--version", default="4.3.1")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 3))
    parser.add_argument("--transaction-version", type=int, help="the level of that feature in both clusters")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    seeds = range(given.first_seed, given.first_seed + given.plans)
    drawn = [KINDS[given.kind](seed, given.version, given.nodes) for seed in seeds]
    if given.kind == "produce":
        drawn += [plans.draw_outage(seed, given.version, given.nodes) for seed in seeds[: given.outages]]
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(
            compare(given.version, given.nodes, drawn, Path(folder), given.transaction_version)
        )
    sys.stdout.write(json.dumps(_numbers(figures), indent=1) + "\n" if given.json else _text(figures))
    return 1 if figures.unknown else 0


def _numbers(figures: Figures) -> dict[str, object]:
    numbers = asdict(figures)
    numbers["different"] = len(figures.unknown)
    numbers["unknown"] = [str(difference) for difference in figures.unknown]
    return numbers


def _text(figures: Figures) -> str:
    lines = [str(difference) for difference in figures.unknown]
    lines.append(
        f"{figures.version} x {figures.nodes}: {figures.plans} plans, {figures.steps} steps, {figures.values} values,"
        f" {figures.late} late responses and {figures.batches} stored batches compared;"
        f" {len(figures.unknown)} differences without a reason"
    )
    lines += [f"  with a reason: {name}: {count}" for name, count in sorted(figures.known.items())]
    lines.append("  " + ", ".join(f"{code} {count}" for code, count in sorted(figures.codes.items())))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
