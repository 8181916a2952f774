"""Files that users write: campaigns and known failures."""

from __future__ import annotations

import tomllib
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.baseline import file as baseline_file
from harness.cli.campaign_plan import expanded
from harness.model.errors import NothingSelected, Problems, UsageError
from harness.planning import campaign_file
from testkit.codes import raises_code
from tests.attacks.formats.documents import toml_document
from tests.attacks.formats.edits import EDITS, Edits, fewer, many
from tests.attacks.formats.hostile_values import DEEP, Raw

ROOT = Path(__file__).parents[3]
CAMPAIGNS = sorted((ROOT / "examples").glob("*.toml"))
KNOWN = b"""# what is known
[[known]]
client = "confluent-kafka@*"
anomaly = "duplicate"
requirement = "PRD-IDEM-01"
scenario = "produce/*"
guarantee = "idempotent"
level = "MUST"
reason = "it is told of \\"there\\""
url = "https://example.org/1"
expires = 2030-01-31
flaky = true

# another one
[[known]]
client = "mine@own"
requirement = "PRD-IDEM-02"
reason = "why not"
"""


def with_value(value: Any) -> Edits:
    """Return edits that leave only this value, under some key."""
    return [("replace", 1, 0, value)], []


HUGE_NUMBER, NESTED = with_value(Raw(b"9" * 5_000)), with_value(Raw(b"[" * DEEP))
NESTED_TABLES = with_value(Raw(b"{a=" * 300 + b"1" + b"}" * 300))
DOTTED = ([], [("insert", 0, 0, b"x." * 900 + b"x = 1\n")])
#: Reading such a pattern used to take time quadratic in its length.
LONG_PATTERN = ([("replace", 6, 0, "[" * DEEP)], [])


@pytest.fixture(scope="module")
def place(memory: Path) -> Path:
    return memory / "file.toml"


@many
@given(st.sampled_from(CAMPAIGNS), EDITS)
@example(CAMPAIGNS[0], HUGE_NUMBER)
@example(CAMPAIGNS[0], NESTED)
@example(CAMPAIGNS[0], NESTED_TABLES)
@example(CAMPAIGNS[0], DOTTED)
def test_edited_campaign_is_read_or_refused(place, survives, source, edits):
    text = source.read_bytes()
    place.write_bytes(toml_document(tomllib.loads(text.decode()), text, edits))
    survives(lambda: campaign_file.load(place), UsageError, Problems)


@fewer
@given(st.sampled_from(CAMPAIGNS), EDITS)
def test_edited_campaign_is_expanded_or_refused(place, survives, source, edits):
    text = source.read_bytes()
    place.write_bytes(toml_document(tomllib.loads(text.decode()), text, edits))
    file = survives(lambda: campaign_file.load(place), UsageError, Problems)
    if file is not None:
        seeds = [*islice(campaign_file.seeds(file), 1)]
        survives(lambda: expanded(file, seeds), UsageError, NothingSelected, Problems)


@many
@given(EDITS)
@example(HUGE_NUMBER)
@example(NESTED)
@example(NESTED_TABLES)
@example(DOTTED)
@example(LONG_PATTERN)
def test_edited_known_failures_are_read_or_refused(place, survives, edits):
    place.write_bytes(toml_document(tomllib.loads(KNOWN.decode()), KNOWN, edits))

    def upkeep() -> None:
        text = baseline_file.read(str(place))
        entries = baseline_file.parse(text, "known.toml")
        again = baseline_file.parse(baseline_file.appended(text, entries), "known.toml")
        assert again == entries * 2
        if entries:
            baseline_file.without(text, {0}, "known.toml")

    survives(upkeep, UsageError)


@pytest.mark.parametrize("parts", [2_000, 200_000])
def test_key_of_many_parts_is_refused_quickly(place, survives, parts):
    place.write_bytes(b"x." * parts + b"x = 1\n")
    for read in (lambda: campaign_file.load(place), lambda: baseline_file.load(str(place))):
        with raises_code(UsageError, "line-too-complex", line=1, most=1000):
            survives(read)
