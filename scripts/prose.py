"""Check prose against the word list, or draw passages for a reviewer.

Docstrings, comments, help texts and hand-written Markdown are checked against ``scripts/wording/rules.toml``. A file
may have as many hits as ``scripts/prose_baseline.toml`` allows, and exactly as many. Problems go to stderr, and the
exit code is 1. ``--update`` lowers the baseline. ``--draw N`` prints N docstrings, messages or paragraphs drawn at
random.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from random import randrange

from wording import baseline
from wording.draw import KINDS, drawn
from wording.files import candidates, passages, sources
from wording.rules import TABLE, Hit, Rule, compiled, hits, table

ROOT = Path(__file__).resolve().parent.parent
BASELINE = "scripts/prose_baseline.toml"


def found(root: Path, rules: tuple[Rule, ...]) -> dict[str, list[Hit]]:
    """Return the hits of each file that has any."""
    to_parse = candidates(sources(root), compiled(rules))
    by_file = {name: hits(passages(name, text), rules) for name, text in to_parse.items()}
    return {name: of_file for name, of_file in by_file.items() if of_file}


def check(root: Path, rules: tuple[Rule, ...]) -> list[str]:
    """Return the problems of a repository."""
    path = root / BASELINE
    return baseline.problems(baseline.read(path.read_text()) if path.exists() else {}, found(root, rules))


def update(root: Path, rules: tuple[Rule, ...]) -> None:
    """Lower the baseline to the hits that are left, or write one with all hits if there is none."""
    path = root / BASELINE
    old = baseline.read(path.read_text()) if path.exists() else None
    path.write_text(baseline.written(baseline.lowered(old, found(root, rules))))


def draw(root: Path, kind: str, count: int, seed: int) -> str:
    """Return passages drawn at random, each with its file and line, and the seed."""
    of_kind = drawn(sources(root), kind, count, seed)
    return f"seed {seed}: {len(of_kind)} {kind}s\n" + "".join(
        f"\n{name}:{passage.line}\n{passage.written.strip()}\n" for name, passage in of_kind
    )


def main(argv: list[str], root: Path = ROOT) -> int:
    """Do what the options say and return the exit code."""
    options = argparse.ArgumentParser(description="Check prose against the word list.")
    options.add_argument("--update", action="store_true", help="lower the baseline to the hits that are left")
    options.add_argument("--draw", type=int, metavar="N", help="print N passages drawn at random")
    options.add_argument("--of", choices=KINDS, default=KINDS[0], help="the kind of passage to draw")
    options.add_argument("--seed", type=int, help="the same seed draws the same passages")
    asked = options.parse_args(argv)
    if asked.draw is not None:
        seed = randrange(10**6) if asked.seed is None else asked.seed
        sys.stdout.write(draw(root, asked.of, asked.draw, seed))
        return 0
    rules = table(TABLE.read_text())
    if asked.update:
        update(root, rules)
    problems = check(root, rules)
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
