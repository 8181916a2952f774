"""Error codes: each has one meaning, its sentence has all parameters, and no error lacks a code."""

from __future__ import annotations

import ast
import pickle
import re
from functools import cache
from string import Formatter

import pytest

from harness.cli.error_codes import CODE, above, calls, class_bases, raised, sources
from harness.cli.main import call
from harness.model.errors import EnvironmentProblem, UsageError, unknown
from harness.text.sentences import Coded
from testkit.codes import assert_error, coded, has_error, raises_code

MODULES = cache(sources)
#: The classes that carry the codes of verdicts.
REASONS = {"ReasonKind", "Anomaly"}


@pytest.mark.long("parses every module")
def test_every_error_has_the_parameters_of_its_sentence():
    for error in raised(MODULES()):
        fields = {name for _, name, _, _ in Formatter().parse(error.template) if name is not None}
        assert fields <= error.params, error


@pytest.mark.long("parses every module")
def test_a_code_has_one_exit_code():
    found, bases = {}, class_bases(MODULES().values())
    for error, kind in raised(MODULES()).items():
        for family in ("UsageError", "NothingSelected", "EnvironmentProblem", "WireError"):
            if family in above(kind, bases):
                found.setdefault(error.code, set()).add(family)
    # These codes can be caused by the user or by the machine.
    shared = {"cannot-read", "cannot-write", "program-missing"}
    assert {code: kinds for code, kinds in found.items() if len(kinds) > 1 and code not in shared} == {}


@pytest.mark.long("parses every module")
def test_no_error_has_the_code_of_a_verdict():
    verdicts = {each.code for each in calls(MODULES()) if each.maker in REASONS}
    assert not verdicts & {error.code for error in raised(MODULES())}


@pytest.mark.long("parses every module")
def test_every_error_has_a_code():
    bases = class_bases(MODULES().values())
    kinds = {name for name in bases if "KafkaTrialError" in above(name, bases)}
    for place, module in MODULES().items():
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds:
                texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
                assert not texts or CODE.fullmatch(str(texts[0])), f"{place}:{node.lineno}"


def test_a_sentence_is_formatted_from_its_parameters():
    error = UsageError(
        "made-up", "{name!r} has {count:,} of {what}", name="{x}", count=1_000, what=("a", "b")
    )
    assert str(error) == "'{x}' has 1,000 of a, b"
    assert str(error.at("inner").at("outer")) == "outer: inner: '{x}' has 1,000 of a, b"
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.params, str(again)) == (error.code, error.params, str(error))


def test_an_error_lists_its_reasons():
    inner = Coded("inner-most", "no")
    error = Coded("outer-most", "{why}", why=Coded("in-between", "{why}", why=inner))
    assert [each.code for each in error.reasons()] == ["in-between", "inner-most"]
    assert has_error(error, "inner-most") and not has_error(error, "another-code")


def test_explain_describes_an_error_code(capsys):
    assert call(["explain", "ports-exhausted"]) == 0
    assert "PortsExhausted, harness/system/port_allocator.py" in capsys.readouterr().out
    assert call(["explain", "ports-exhaustd"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'ports-exhaustd'")


def refuse():
    raise unknown("client", "kafkjs", ["kafkajs", "sarama"])


def test_raises_code_accepts_the_code_and_parameters():
    with raises_code(UsageError, "unknown-name", name="kafkjs", suggestion=re.compile("^kafka")):
        refuse()
    with raises_code(UsageError, coded("unknown-name", what="client")):
        refuse()


@pytest.mark.parametrize(
    "expected",
    [coded("another-code"), coded("unknown-name", name="kafkajs"), coded("unknown-name", name=coded("x-y"))],
)
def test_assert_error_refuses_another_code_or_parameter(expected):
    with pytest.raises(AssertionError):
        assert_error(unknown("client", "kafkjs", ["kafkajs"]), expected)


def test_has_error_needs_one_line_with_all_data():
    told = "error[port-taken]: port 1 of h cannot be had: no\nhint: 2"
    assert has_error(told, "port-taken", 1, "h")
    assert not has_error(told, "port-taken", 2)
    assert not has_error(told, "port-free")
    assert not has_error("  error[port-taken]: 1", "port-taken")


def test_raises_code_compares_the_reason_of_an_error():
    why = EnvironmentProblem("inner-most", "no {x}", x=1)
    with raises_code(EnvironmentProblem, "outer-most", why=coded("inner-most", x=1)):
        raise EnvironmentProblem("outer-most", "{why}", why=why)
