"""The campaign file: its keys, examples, and its JSON Schema for editors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.planning.campaign_file import CampaignFile, Client, Seeds, Spending
from harness.planning.campaign_schema import schema
from harness.planning.fault_strategies import DrawnFrames
from harness.planning.fault_tables import AboutKind, Generated
from pages.markdown import NOTE, code, table

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMA = "campaign.schema.json"

ABOUT = f"""\
`kafka-trial campaign FILE` runs what a TOML file describes: clients at versions, brokers, scenarios, guarantees,
configurations, and schedules of faults that are drawn from tables. `--dry-run` shows the resulting trials and about how
long they take. Any invalid entry is refused with one sentence before anything runs.

For an editor, [{SCHEMA}]({SCHEMA}) is the schema; `kafka-trial schema campaign` prints it for what is installed.
"""

TABLES = """\
A number in a table of faults is fixed (`100`), in a range (`[50, 250]`), or one of several (`{ one_of = [1, 9] }`).
[faults.md](faults.md) lists the kinds of fault with their parameters and bounds. The first fault of a schedule begins
while a Produce request is in flight, the others at any moment of the load. A seed draws the same schedule for all
clients, guarantees and configurations. A fault that its kind refuses, or under which no client could be judged, is
drawn again.

A trial's variant is the name of its table and of its configuration.
"""

TOGETHER = """\
`product` tries all combinations. `pairwise` tries few of them: any two values that can be combined at all occur
together in at least one, whatever their axes (client, broker, scenario or table, guarantee, configuration). Each is
tried with all seeds. Impossible combinations are left out of both, and reported: a setting that contradicts a scenario
or a guarantee, or with which Java's producer would not start.
"""


#: The tables of a file: the type of each, and its place in the file.
PARTS: tuple[tuple[type[msgspec.Struct], str], ...] = (
    (CampaignFile, ""),
    (Client, "clients[n]."),
    (Seeds, "seeds."),
    (Spending, "budget."),
    (Generated, "generated.NAME."),
    (AboutKind, "generated.NAME.kinds.KIND."),
    (DrawnFrames, "generated.NAME.kinds.KIND.frames."),
)


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    keys = table(("key", "what", "default"), _keys())
    parts = ["# Campaign files\n", NOTE, ABOUT, "## Keys\n", keys, "## Tables of faults\n", TABLES]
    parts += ["## Combinations\n", TOGETHER, "## Examples\n", *map(_example, sorted(EXAMPLES.glob("*.toml")))]
    return {"campaign.md": "\n".join(parts), SCHEMA: json.dumps(schema(), indent=1) + "\n"}


def _keys() -> Iterator[tuple[str, str, str]]:
    """Yield each key with its description and its default."""
    _, components = msgspec.json.schema_components(part for part, _ in PARTS)
    for part, prefix in PARTS:
        for name, key in components[part.__name__]["properties"].items():
            default = key.get("default")
            told = code(json.dumps(default)) if default and not isinstance(default, dict) else ""
            yield code(f"{prefix}{name}"), key.get("description", ""), told


def _example(path: Path) -> str:
    return f"`examples/{path.name}`:\n\n```toml\n{path.read_text()}```\n"
