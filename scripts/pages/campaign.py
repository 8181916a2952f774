"""The campaign file: what can be in it, examples of it, and its JSON Schema for editors."""

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
`kafka-trial campaign FILE` tries what a TOML file names: clients at versions, brokers, scenarios, guarantees,
configurations, and schedules of faults that are drawn from tables. `--dry-run` shows what that comes to and about how
long it takes. Whatever is not meant like that is refused in one sentence before anything runs.

For an editor, [{SCHEMA}]({SCHEMA}) is the schema; `kafka-trial schema campaign` prints it with what is installed.
"""

TABLES = """\
A number in a table of faults is fixed (`100`), any of a range (`[50, 250]`), or one of several (`{ one_of = [1, 9] }`).
[faults.md](faults.md) has the kinds of fault with their parameters and bounds. The first fault of a schedule begins
with a Produce request on its way, the others at any moment of the load. A seed draws the same schedule for all
clients, guarantees and configurations; what a kind cannot do, or under what nobody could be judged, is drawn anew.

A trial's variant is the name of its table and of its configuration.
"""

TOGETHER = """\
`product` tries everything with everything. `pairwise` tries few combinations: any two values that can meet at all meet
in one of them, whichever axes they are of (client, broker, scenario or table, guarantee, configuration). Each is tried
with all seeds. What cannot meet is left out of both, and said: a setting that a scenario or a guarantee needs to be
otherwise, or with which Java's producer would not begin.
"""


#: The tables of a file: what they are made of, and where they stand.
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
    """File below ``docs/reference/`` -> its text."""
    keys = table(("key", "what", "if it is not there"), _keys())
    parts = ["# Campaign files\n", NOTE, ABOUT, "## Keys\n", keys, "## Tables of faults\n", TABLES]
    parts += ["## Combinations\n", TOGETHER, "## Examples\n", *map(_example, sorted(EXAMPLES.glob("*.toml")))]
    return {"campaign.md": "\n".join(parts), SCHEMA: json.dumps(schema(), indent=1) + "\n"}


def _keys() -> Iterator[tuple[str, str, str]]:
    """(Key, what it is, its default)."""
    _, components = msgspec.json.schema_components(part for part, _ in PARTS)
    for part, prefix in PARTS:
        for name, key in components[part.__name__]["properties"].items():
            default = key.get("default")
            told = code(json.dumps(default)) if default and not isinstance(default, dict) else ""
            yield code(f"{prefix}{name}"), key.get("description", ""), told


def _example(path: Path) -> str:
    return f"`examples/{path.name}`:\n\n```toml\n{path.read_text()}```\n"
