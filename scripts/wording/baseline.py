"""The baseline: how many hits each file may still have. It shrinks and never grows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence

from wording.rules import Hit

HEADER = """\
# How many hits of the word list each file may still have. `python scripts/prose.py --update` lowers the numbers.
# Delete this file before the update to start again, such as after a new rule.

"""


def read(text: str) -> dict[str, int]:
    """Return the number of hits that each file may have."""
    return {name: int(count) for name, count in tomllib.loads(text).items()}


def written(baseline: Mapping[str, int], header: str = HEADER) -> str:
    """Return the baseline in TOML. A file without a hit has no line."""
    lines = (f"{json.dumps(name)} = {count}\n" for name, count in sorted(baseline.items()) if count)
    return header + "".join(lines)


def lowered(baseline: Mapping[str, int] | None, hits: Mapping[str, Sequence[Hit]]) -> dict[str, int]:
    """Return the baseline with each number lowered to the hits that are left. Without one, every hit is allowed."""
    if baseline is None:
        return {name: len(found) for name, found in hits.items() if found}
    left = {name: min(count, len(hits.get(name, ()))) for name, count in baseline.items()}
    return {name: count for name, count in left.items() if count}


def problems(
    baseline: Mapping[str, int], hits: Mapping[str, Sequence[Hit]], script: str = "scripts/prose.py"
) -> list[str]:
    """Return a line for each hit of a file that has too many, and for each file whose number is too high."""
    lines = []
    for name in sorted({*baseline, *hits}):
        found, allowed = hits.get(name, ()), baseline.get(name, 0)
        if len(found) > allowed:
            lines += [f'{name}:{hit.line}: "{hit.words}": write {hit.write}' for hit in found]
            if allowed:
                lines.append(f"{name}: {len(found)} hits, and the baseline allows {allowed}")
        elif len(found) < allowed:
            lines.append(
                f"{name}: {len(found)} hits, and the baseline allows {allowed}; run: {script} --update"
            )
    return lines
