"""The contract tests pass a correct client and find every broken one, with the expected detail."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from suites.contract import CASES, CaseResult, check_contract
from suites.contract.consumer_cases import CONSUMER_CASES

#: program -> (the case that finds it, a part of its detail)
BROKEN = {
    "acknowledges_nothing": ("dead-address", "acknowledged although no broker was there"),
    "answers_no_flush": ("dead-address", "expected an answer to flush"),
    "closes_never": ("close-in-time", "expected an answer to close"),
    "consumer_closes_never": ("consumer-close-in-time", "expected an answer to close"),
    "consumer_does_what_it_hides": ("consumer-features", "expected unsupported for seek"),
    "consumer_forgets_a_setting": (
        "consumer-configuration",
        "expected every setting once, .* not so group.id",
    ),
    "consumer_hangs_in_subscribe": ("consumer-commands", "expected an answer to subscribe"),
    "consumer_ignores_sigterm": ("consumer-sigterm", "expected its process to end"),
    "consumer_takes_any_setting": ("consumer-bad-setting", "session.timeout.ms=banana"),
    "consumes_without_broker": ("consumer-dead-address", "reports records_consumed although no broker"),
    "crashes_in_mid_run": ("dead-address", "exited with 3; the last line of .* is 'segmentation fault"),
    "crashes_over_a_client": ("dead-address", "ended its own process: out of bounds"),
    "forgets_a_setting": ("configuration", "expected every setting once, .* not so linger.ms"),
    "ignores_sigterm": ("sigterm", "expected its process to end"),
    "ignores_unknown_commands": ("unknown-command", "expected unsupported for command 'recite_a_poem'"),
    "never_ends_its_line": ("startup", "expected lines of at most 8,388,608 bytes, got a longer one"),
    "says_garbage": ("configuration", "expected a JSON object .* its line 2 is .*oops"),
    "says_nothing": ("startup", "expected startup_complete within"),
    "shows_no_heartbeat": ("heartbeat", "expected stats each second"),
    "skips_a_number": ("heartbeat", "expected seq 1 in stats, got 2"),
    "survives_garbage": ("garbage-line", "expected fatal and a non-zero exit"),
    "takes_any_setting": ("bad-setting", "acks=banana"),
    "tells_the_wrong_time": ("startup", "CLOCK_MONOTONIC"),
    "trips_in_configure": ("bad-setting", "expected configured .* got fatal: KeyError"),
    "tells_twice": ("dead-address", "record 0 is given a second result"),
}

#: How long to wait for a response that a broken client never gives, and for one that it gives on a busy machine.
SHORT_PATIENCE_S, PATIENCE_S = 15, 120
#: The clients of whose responses one never comes.
SILENT = {
    "answers_no_flush",
    "closes_never",
    "consumer_closes_never",
    "consumer_hangs_in_subscribe",
    "consumer_ignores_sigterm",
    "ignores_sigterm",
    "ignores_unknown_commands",
    "says_nothing",
    "shows_no_heartbeat",
    "survives_garbage",
}


@pytest.fixture(scope="module")
def found(program, tmp_path_factory) -> dict[str, CaseResult]:
    """Return the findings of each broken client. They run at once, because most of the time is spent on timeouts."""

    async def check(name: str, case: str) -> CaseResult:
        folder = tmp_path_factory.mktemp(name)
        patience_s = SHORT_PATIENCE_S if name in SILENT else PATIENCE_S
        [result] = await check_contract(program(name), [case], patience_s=patience_s, folder=folder)
        return result

    async def check_all() -> list[CaseResult]:
        return await asyncio.gather(*(check(name, case) for name, (case, _) in BROKEN.items()))

    return dict(zip(BROKEN, asyncio.run(check_all()), strict=True))


@pytest.mark.long("broken clients are waited for")
@pytest.mark.parametrize("name", BROKEN)
def test_broken_client_fails_with_the_expected_detail(found, name):
    assert not found[name].passed
    assert re.search(BROKEN[name][1], found[name].detail), found[name].detail


@pytest.mark.long("broken clients are waited for")
@pytest.mark.parametrize(
    ("name", "cases"),
    [("polite", [case for case in CASES if case not in CONSUMER_CASES]), ("polite_consumer", list(CASES))],
)
def test_correct_client_passes_every_case(program, tmp_path, name, cases):
    results = asyncio.run(check_contract(program(name), folder=tmp_path))
    assert [result.case for result in results] == cases
    assert [result for result in results if not result.passed] == []


def test_every_program_is_in_the_table():
    programs = {path.stem for path in (Path(__file__).parent / "broken").glob("*.py")}
    assert programs == {*BROKEN, "polite", "polite_consumer"}


def test_every_case_is_failed_by_some_client():
    assert {case for case, _ in BROKEN.values()} == set(CASES) - {
        "end-of-input",
        "consumer-end-of-input",
    }
