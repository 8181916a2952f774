"""Unknown names: the error suggests a similar name, or lists the table or the command that shows it."""

from __future__ import annotations

import pytest

from harness.model.errors import HANDFUL, MANY, unknown
from testkit.codes import has_error

LONG = [f"scenario/{'x' * n}" for n in range(1, MANY + 2)]


@pytest.mark.parametrize(
    ("known", "said", "hint"),
    [
        (["calm", "latency"], "unknown scenario 'clam'; did you mean 'calm'?", None),
        (["calm", *LONG], "unknown scenario 'clam'; did you mean 'calm'?", None),
        (["b", "a"], "unknown scenario 'clam'; known: a, b", None),
        ([], "unknown scenario 'clam'; known: none", None),
        (
            LONG,
            f"unknown scenario 'clam'; some of {len(LONG)} are {', '.join(LONG[:HANDFUL])}",
            "kafka-trial list scenarios shows what there is",
        ),
    ],
)
def test_an_unknown_name_gets_a_suggestion_or_a_list(known: list[str], said: str, hint: str | None) -> None:
    error = unknown("scenario", "clam", known)
    assert (str(error), error.hint) == (said, hint)


def test_a_long_table_without_a_list_command_has_no_hint() -> None:
    error = unknown("setting", "clam", LONG)
    assert has_error(error, "unknown-name") and error.hint is None
