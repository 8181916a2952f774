"""What may not be in a campaign file: one sentence that says which file, where in it, and what instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.main import call
from harness.model.errors import KafkaTrialError, UsageError
from harness.planning import campaign_file

KINDS = "[generated.a.kinds]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 1", "campaign.toml: unknown key 'seed'; did you mean 'seeds'?"),
        ("seeds = { cout = 1 }", "unknown key of seeds 'cout'; did you mean 'count'?"),
        ("seeds = { count = 0 }", "seeds.count: expected `integer` >= 1"),
        ("seeds = [1, -1]", "seeds[1]: expected `integer` >= 0"),
        ('seeds = "x"', "seeds: expected `table | list`, got `string`"),
        ("seeds = []", "seeds: there is none; name one at least"),
        ("clients = 5", "clients: expected `list`, got `integer`"),
        ("budget = { max_failures = 0 }", "budget.max_failures: expected `integer` >= 1"),
        (
            'guarantees = ["idempotnet"]',
            "guarantees[0]: unknown value 'idempotnet'; did you mean 'idempotent'?",
        ),
        ('combine = "pairs"', "combine: unknown value 'pairs'; did you mean 'pairwise'?"),
        ('clients = [\n"reference"\n', "campaign.toml: not TOML: Unclosed array"),
        ("a = 1\nb =\n", "not TOML: Invalid value (at line 2, column 4)"),
        ("configurations = 5", "configurations: expected `table`, got `integer`"),
        ('[configurations."a b"]', 'configurations."a b": its name is part of those of trials'),
        ("[generated.a]", "generated.a lacks kinds"),
        (
            "[generated.a]\nload = { recordz = 5 }",
            "unknown key of generated.a.load 'recordz'; did you mean 'records'?",
        ),
    ],
)
def test_what_is_no_campaign_file(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'clients = ["reference", "refrence"]',
            "clients[1]: unknown client 'refrence'; did you mean 'reference'?",
        ),
        ('clients = [{ nam = "reference" }]', "unknown key of clients[0] 'nam'; did you mean 'name'?"),
        ("clients = [{}]", "clients[0]: it has neither a name nor a command"),
        (
            'clients = [{ name = "reference", versions = "all" }]',
            "versions is a list, or \"tried\"; not 'all'",
        ),
        ('clients = [{ command = ["./nope"] }]', "clients[0]: ./nope is not a program that can be run here"),
        ('clients = [{ command = ["sh"], versions = ["1"] }]', "a command has no versions"),
        (
            'scenarios = ["produce/clam"]',
            "scenarios: unknown scenario 'produce/clam'; did you mean 'produce/calm'?",
        ),
        ('scenarios = ["generated/any"]', "scenarios: generated/any cannot be tried in the live world"),
        ('guarantees = ["transactional"]', "scenarios: no scenario here is tried under transactional"),
        ("scenarios = []", "nothing of it can be tried together"),
        ('brokers = ["lokal:4.3.1x1"]', "brokers: unknown broker 'lokal'; did you mean 'local'?"),
        ('brokers = ["local:4.3.1x7"]', "brokers: "),
    ],
)
def test_names_that_nothing_has(made, text, said):
    with pytest.raises(KafkaTrialError) as refused:
        made(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("batch.sise = 5", "unknown setting of a client 'batch.sise'; did you mean 'batch.size'?"),
        ("batch.size = 1.5", "batch.size is a whole number, not 1.5"),
        ("batch.size = true", "batch.size is a whole number, not True"),
        ("batch.size = [1]", "batch.size is a whole number, not [1]"),
        ("batch.size = -1", "batch.size is 0 to 2147483647, not -1"),
        ("acks = 2", "acks is one of all, -1, 0, 1, not 2"),
        ("acks = true", "acks is one of all, -1, 0, 1, not True"),
        ("enable.idempotence = 1", "enable.idempotence is true or false, not 1"),
        ('client.id = "me"', "unknown setting of a client 'client.id'"),
        (
            "request.timeout.ms = 40000",
            "configurations.mine: nothing here can be tried with it; produce/calm, at-",
        ),
        (
            "request.timeout.ms = 40000",
            "delivery.timeout.ms 30000 is less than linger.ms and request.timeout.ms",
        ),
    ],
)
def test_settings_that_no_producer_takes(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(f'scenarios = ["produce/calm"]\n[configurations.mine]\n{text}')
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "generated.a.kinds: there is none; name one at least"),
        ("latenci = {}", "generated.a.kinds: unknown fault 'latenci'; did you mean 'latency'?"),
        (
            "latency = { upstream = 5 }",
            "unknown parameter of fault 'latency', in generated.a.kinds.latency, 'upstream'; did you mean",
        ),
        (
            "latency = {}",
            "generated.a.kinds.latency: fault 'latency' needs upstream_ms or downstream_ms above 0",
        ),
        ("latency = { upstream_ms = [5, 1] }", "latency.upstream_ms: [5, 1] is no range; one_of = [5, 1] is"),
        ("latency = { upstream_ms = [1, 2, 3] }", "latency.upstream_ms: expected `list` of length 2, got 3"),
        ("latency = { upstream_ms = 700000 }", "latency.upstream_ms must be 0 to 600000, not 700000"),
        ("latency = { upstream_ms = [-1, 5] }", "latency.upstream_ms must be 0 to 600000, not -1"),
        (
            "latency = { upstream_ms = { one_of = [5, -1] } }",
            "latency.upstream_ms must be 0 to 600000, not -1",
        ),
        ("latency = { upstream_ms = { one_of = [] } }", "latency.upstream_ms: one_of names no number"),
        (
            "latency = { upstream_ms = { oneof = [1] } }",
            "unknown key of generated.a.kinds.latency.upstream_ms 'oneof'",
        ),
        ('latency = { upstream_ms = "5" }', "upstream_ms: expected `integer | table | list`, got `string`"),
        ("refuse = { duration_ms = 9999999 }", "generated.a.kinds.refuse.duration_ms must be 0 to 3600000"),
        ("refuse = { broker = 0 }", "generated.a.kinds.refuse.broker must be 1 to"),
        (
            "refuse = { broker = 4 }",
            "refuse: fault 'refuse' names broker 4; on local:4.3.1x1 it can name 1 to 3",
        ),
        ("late_frame = {}", "generated.a.kinds.late_frame: fault 'late_frame' needs to know which frames"),
        (
            'late_frame = { frames = { api = "Produze" } }',
            "late_frame: fault 'late_frame': there is no API 'Produze'",
        ),
        ("late_frame = { frames = { first = 0 } }", "generated.a.kinds.late_frame.frames.first must be 1 to"),
        ("refuse = { frames = {} }", "refuse: fault 'refuse' does not act on single frames"),
    ],
)
def test_faults_that_nobody_can_have(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(KINDS + text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("faults = 0", "generated.a.faults must be 1 to 100, not 0"),
        ("duration_ms = -1", "generated.a.duration_ms must be 0 to 3600000, not -1"),
        ("load = { records = 0 }", "generated.a.load.records must be 1 to 10000000, not 0"),
    ],
)
def test_tables_that_nobody_can_have(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(f"[generated.a]\n{text}\n{KINDS}refuse = {{}}")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs = 99", "c.toml: jobs: -j takes a number from 1 to"),
        (
            'budget = { max_time = "5" }',
            "c.toml: budget.max_time: '5' is not a duration; write it as 90s, 10m",
        ),
        ("seed = 1", "c.toml: unknown key 'seed'; did you mean 'seeds'?"),
        ("\xff", "c.toml: not UTF-8, from byte 0 on"),
        (None, "c.toml: No such file or directory"),
    ],
)
def test_a_file_that_is_wrong_is_one_sentence_and_nothing_is_left(capsys, tmp_path, text, said):
    path = tmp_path / "c.toml"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    assert call(["campaign", str(path), "--out-dir", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and said in told.err.replace("\n", " ") and told.err.count("error[") == 1
    assert not (tmp_path / "runs").exists()


@given(st.text(max_size=30))
def test_any_text_is_a_campaign_or_one_sentence(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "c.toml"
    path.write_text(text, newline="")
    try:
        campaign_file.load(path)
    except UsageError as error:
        assert str(error).startswith(str(path))
