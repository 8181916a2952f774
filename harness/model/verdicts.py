"""Three-valued outcomes of operations, and the verdicts drawn from them.

An operation is ``ok`` (certainly happened), ``fail`` (certainly did not happen) or ``info`` (unknown). A verdict is
never a pass by default: a fault that did not fire, a check that crashed, and a trial without checks each have a verdict
of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Outcome(StrEnum):
    """The known result of one operation."""

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Guarantee(StrEnum):
    """The delivery guarantee that the client's settings promise."""

    AT_MOST_ONCE = "at-most-once"
    AT_LEAST_ONCE = "at-least-once"
    IDEMPOTENT = "idempotent"
    TRANSACTIONAL = "transactional"


class Level(StrEnum):
    """MUST: a protocol rule or a safety promise (norm P or S). SHOULD: the behaviour of the Java client (norm J)."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Verdict(StrEnum):
    """The judgement of a requirement or of a trial. A broken MUST is a fail; an unmet SHOULD differs."""

    PASS = "pass"
    FAIL = "fail"
    DIFFERS = "differs"
    EXPECTED_FAIL = "expected-fail"
    UNEXPECTED_PASS = "unexpected-pass"
    NOT_EXERCISED = "not-exercised"
    INCONCLUSIVE = "inconclusive"
    UNSUPPORTED = "unsupported"
    HARNESS_ERROR = "harness-error"


#: Worst first. A crashed check outranks everything, since other results of the trial are not reliable either. A
#: confirmed failure ranks above inconclusive results. An observed difference is valid whether or not the fault took
#: effect.
SEVERITY = (
    Verdict.HARNESS_ERROR,
    Verdict.FAIL,
    Verdict.UNEXPECTED_PASS,
    Verdict.INCONCLUSIVE,
    Verdict.DIFFERS,
    Verdict.NOT_EXERCISED,
    Verdict.UNSUPPORTED,
    Verdict.EXPECTED_FAIL,
    Verdict.PASS,
)

EXIT_CODES = {
    Verdict.HARNESS_ERROR: 3,
    Verdict.FAIL: 1,
    Verdict.UNEXPECTED_PASS: 1,
    Verdict.INCONCLUSIVE: 4,
    Verdict.NOT_EXERCISED: 4,
    Verdict.DIFFERS: 0,
    Verdict.UNSUPPORTED: 0,
    Verdict.EXPECTED_FAIL: 0,
    Verdict.PASS: 0,
}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts; ``not-exercised`` if there are none, since that is not a pass."""
    return min(verdicts, key=SEVERITY.index, default=Verdict.NOT_EXERCISED)


def exit_code(verdicts: Iterable[Verdict], others: Iterable[int] = (), *, strict: bool = False) -> int:
    """Return the exit code of a run with these trial verdicts: 3 before 1 before 4, and 5 if there are no trials.

    ``others`` are exit codes for other reasons, such as an incomplete run or a missed threshold; 0 is none. With
    ``strict``, a difference counts as a failure. If every trial is unsupported, nothing was judged, and the code is 4.
    """
    table = EXIT_CODES | ({Verdict.DIFFERS: 1} if strict else {})
    found = set(verdicts)
    codes = {table[verdict] for verdict in found} | (set(others) - {0})
    if found == {Verdict.UNSUPPORTED}:
        codes.add(4)
    return next((code for code in (3, 1, 4, 0) if code in codes), 5)


#: The glyph of each verdict, and its style in rich's markup. Without colours, glyph and word identify it.
GLYPHS = {
    Verdict.PASS: ("✔", "green"),
    Verdict.FAIL: ("✗", "bold red"),
    Verdict.DIFFERS: ("≠", "cyan"),
    Verdict.EXPECTED_FAIL: ("x", "yellow"),
    Verdict.UNEXPECTED_PASS: ("!", "bold yellow"),
    Verdict.NOT_EXERCISED: ("○", "yellow"),
    Verdict.INCONCLUSIVE: ("?", "yellow"),
    Verdict.UNSUPPORTED: ("–", "dim"),
    Verdict.HARNESS_ERROR: ("⚠", "bold magenta"),
}
