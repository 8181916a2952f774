"""Refusals of campaign files: one error that names the file, the place in it, and an alternative."""

from __future__ import annotations

import json
from contextlib import redirect_stderr
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.commands import campaign
from harness.cli.main import call
from harness.model.errors import KafkaTrialError, UsageError
from harness.planning import campaign_file
from testkit.codes import has_error

KINDS = "[generated.a.kinds]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 1", ("unknown-name", "'seed'", "'seeds'", "campaign.toml")),
        ("seeds = { cout = 1 }", ("unknown-name", "'cout'", "'count'")),
        ("seeds = { count = 0 }", ("wrong-type", "`integer`", "seeds.count", "1")),
        ("seeds = [1, -1]", ("wrong-type", "`integer`", "seeds[1]", "0")),
        ('seeds = "x"', ("wrong-type", "`table | list`", "`string`", "seeds:")),
        ("seeds = []", ("no-seeds", "seeds:")),
        ("clients = 5", ("wrong-type", "`list`", "`integer`", "clients:")),
        ("budget = { max_failures = 0 }", ("wrong-type", "`integer`", "budget.max_failures", "1")),
        (
            'guarantees = ["idempotnet"]',
            ("unknown-name", "'idempotnet'", "'idempotent'", "guarantees[0]"),
        ),
        ('combine = "pairs"', ("unknown-name", "'pairs'", "'pairwise'", "combine:")),
        ('clients = [\n"reference"\n', ("not-toml", "campaign.toml")),
        ("a = 1\nb =\n", ("not-toml", "2", "4")),
        ("configurations = 5", ("wrong-type", "`table`", "`integer`", "configurations:")),
        ('[configurations."a b"]', ("variant-name", 'configurations."a b":')),
        ("[generated.a]", ("key-missing", "kinds", "generated.a")),
        (
            "[generated.a]\nkinds = { refuse = {} }\nload = { recordz = 5 }",
            ("unknown-name", "'recordz'", "'records'", "generated.a.load"),
        ),
    ],
)
def test_an_invalid_campaign_file_is_refused(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(text)
    assert has_error(refused.value, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'clients = ["reference", "refrence"]',
            ("unknown-name", "'refrence'", "'reference'", "clients[1]"),
        ),
        ('clients = [{ nam = "reference" }]', ("unknown-name", "'nam'", "'name'", "clients[0]")),
        ("clients = [{}]", ("client-without-name", "clients[0]")),
        (
            'clients = [{ name = "reference", versions = "all" }]',
            ("versions-not-a-list", "'all'"),
        ),
        ('clients = [{ command = ["./nope"] }]', ("program-missing", "clients[0]", "./nope")),
        ('clients = [{ command = ["sh"], versions = ["1"] }]', ("command-with-versions",)),
        (
            'scenarios = ["produce/clam"]',
            ("unknown-name", "'produce/clam'", "'produce/calm'", "scenarios:"),
        ),
        ('scenarios = ["generated/any"]', ("scenario-not-in-mode", "scenarios:", "generated/any")),
        ('scenarios = ["produce/*"]\nguarantees = ["transactional"]', ("no-scenario", "scenarios:")),
        ("scenarios = []", ("empty-plan",)),
        ('brokers = ["lokal:4.3.1x1"]', ("unknown-name", "'lokal'", "'local'", "brokers:")),
        ('brokers = ["local:4.3.1x7"]', ("unknown-name", "brokers:")),
    ],
)
def test_unknown_names_are_refused(made, text, said):
    with pytest.raises(KafkaTrialError) as refused:
        made(text)
    assert has_error(refused.value, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("batch.sise = 5", ("unknown-name", "'batch.sise'", "'batch.size'")),
        ("batch.size = 1.5", ("setting-value-refused", "batch.size", "0", "2147483647", "1.5")),
        ("batch.size = true", ("setting-value-refused", "batch.size", "0", "2147483647", "True")),
        ("batch.size = [1]", ("setting-value-refused", "batch.size", "0", "2147483647", "[1]")),
        ("batch.size = -1", ("setting-value-refused", "batch.size", "0", "2147483647", "-1")),
        ("acks = 2", ("setting-value-refused", "acks", "all, -1, 0, 1", "2")),
        ("acks = true", ("setting-value-refused", "acks", "all, -1, 0, 1", "True")),
        ("enable.idempotence = 1", ("setting-value-refused", "enable.idempotence", "1")),
        ('client.id = "me"', ("setting-withheld", "client.id")),
        (
            "request.timeout.ms = 40000",
            ("configuration-conflict", "configurations.mine", "produce/calm"),
        ),
        (
            "request.timeout.ms = 40000",
            ("configuration-conflict", "delivery.timeout.ms", "30000", "linger.ms", "request.timeout.ms"),
        ),
    ],
)
def test_invalid_settings_are_refused(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(f'scenarios = ["produce/calm"]\n[configurations.mine]\n{text}')
    assert has_error(refused.value, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("no-fault-kinds", "generated.a.kinds")),
        ("latenci = {}", ("unknown-name", "'latenci'", "'latency'", "generated.a.kinds")),
        (
            "latency = { upstream = 5 }",
            ("unknown-name", "'latency'", "'upstream'", "generated.a.kinds.latency"),
        ),
        (
            "latency = {}",
            (
                "fault-does-nothing",
                "'latency'",
                "generated.a.kinds.latency",
                "upstream_ms",
                "downstream_ms",
                "0",
            ),
        ),
        ("latency = { upstream_ms = [5, 1] }", ("empty-range", "latency.upstream_ms", "one_of")),
        ("latency = { upstream_ms = [1, 2, 3] }", ("wrong-type", "`list`", "latency.upstream_ms", "2", "3")),
        (
            "latency = { upstream_ms = 700000 }",
            ("value-out-of-range", "latency.upstream_ms", "0", "600000", "700000"),
        ),
        (
            "latency = { upstream_ms = [-1, 5] }",
            ("value-out-of-range", "latency.upstream_ms", "0", "600000", "-1"),
        ),
        (
            "latency = { upstream_ms = { one_of = [5, -1] } }",
            ("value-out-of-range", "latency.upstream_ms", "0", "600000", "-1"),
        ),
        ("latency = { upstream_ms = { one_of = [] } }", ("empty-choice", "latency.upstream_ms", "one_of")),
        (
            "latency = { upstream_ms = { oneof = [1] } }",
            ("unknown-name", "'oneof'", "generated.a.kinds.latency.upstream_ms"),
        ),
        (
            'latency = { upstream_ms = "5" }',
            ("wrong-type", "`integer | table | list`", "`string`", "upstream_ms"),
        ),
        (
            "refuse = { duration_ms = 9999999 }",
            ("value-out-of-range", "generated.a.kinds.refuse.duration_ms", "0", "3600000"),
        ),
        ("refuse = { broker = 0 }", ("value-out-of-range", "generated.a.kinds.refuse.broker", "1")),
        (
            "refuse = { broker = 4 }",
            ("fault-broker-range", "'refuse'", "refuse:", "4", "local:4.3.1x1", "1", "3"),
        ),
        ("late_frame = {}", ("fault-without-frames", "'late_frame'", "generated.a.kinds.late_frame")),
        (
            'late_frame = { frames = { api = "Produze" } }',
            ("frames-api-unknown", "'late_frame'", "'Produze'", "late_frame"),
        ),
        (
            "late_frame = { frames = { first = 0 } }",
            ("value-out-of-range", "generated.a.kinds.late_frame.frames.first", "1"),
        ),
        ("refuse = { frames = {} }", ("frames-not-taken", "'refuse'", "refuse:")),
    ],
)
def test_invalid_fault_kinds_are_refused(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(KINDS + text)
    assert has_error(refused.value, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("faults = 0", ("value-out-of-range", "generated.a.faults", "1", "100", "0")),
        ("duration_ms = -1", ("value-out-of-range", "generated.a.duration_ms", "0", "3600000", "-1")),
        ("load = { records = 0 }", ("value-out-of-range", "generated.a.load.records", "1", "10000000", "0")),
    ],
)
def test_invalid_tables_are_refused(made, text, said):
    with pytest.raises(UsageError) as refused:
        made(f"[generated.a]\n{text}\n{KINDS}refuse = {{}}")
    assert has_error(refused.value, *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs = 99", ("jobs-value", "c.toml", "1")),
        (
            'budget = { max_time = "5" }',
            ("not-a-duration", "'5'", "c.toml", "budget.max_time"),
        ),
        ("seed = 1", ("unknown-name", "'seed'", "'seeds'", "c.toml")),
        ("\xff", ("not-utf-8", "c.toml", "0")),
        (None, ("cannot-open", "c.toml")),
    ],
)
def test_an_invalid_file_is_one_error_and_leaves_nothing(capsys, tmp_path, text, said):
    path = tmp_path / "c.toml"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    assert call(["campaign", str(path), "--out-dir", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and has_error(told.err, *said) and told.err.count("error[") == 1
    assert not (tmp_path / "runs").exists()


@given(st.text(max_size=30))
def test_arbitrary_text_is_a_campaign_or_one_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "c.toml"
    path.write_text(text, newline="")
    try:
        campaign_file.load(path)
    except UsageError as error:
        assert str(error).startswith(str(path))


def test_all_errors_of_a_campaign_file_are_printed_each_with_its_place(tmp_path, capsys):
    file = tmp_path / "campaign.toml"
    file.write_text('sceanrios = []\nseeds = { cout = 1 }\ncombine = "pairs"\n[generated.a]\n')
    assert call(["campaign", str(file), "--dry-run"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error[")]
    for line, part in zip(lines, ("'sceanrios'", "'cout'", "combine:", "generated.a"), strict=True):
        assert part in line and f"{file}: " in line


def test_all_unknown_names_of_a_campaign_file_are_printed_each_with_its_place(tmp_path, capsys):
    file = tmp_path / "campaign.toml"
    file.write_text(
        'clients = ["refrence", "jav"]\nbrokers = ["lokal:4.3.1x1"]\nscenarios = ["produce/clam"]\njobs = 99\n'
        "[configurations.a]\nbatch.sise = 5\nlinger.ms = -1\n"
    )
    assert call(["campaign", str(file), "--dry-run"]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error[")]
    parts = ("jobs:", "brokers:", "clients[0]:", "clients[1]:", "scenarios:", "'batch.sise'", "linger.ms")
    for line, part in zip(lines, parts, strict=True):
        assert part in line and f"{file}: " in line
    assert all("configurations.a: " in line for line in lines[-2:])


def test_paths_in_a_campaign_file_begin_at_the_file(tmp_path, monkeypatch, capsys):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    folder.mkdir(), elsewhere.mkdir()
    (folder / "adapter").write_text("#!/bin/sh\n")
    (folder / "adapter").chmod(0o755)
    (folder / "lines.txt").write_text("one\ntwo\n")
    (folder / "known.toml").write_text("[[known]]\nclient = 'adapter@*'\nanomaly = 'lost'\nreason = 'r'\n")
    (folder / "campaign.toml").write_text(
        'clients = [{ command = ["./adapter", "./lines.txt", "plain.txt"] }]\nscenarios = ["produce/calm"]\n'
        'baseline = "known.toml"\nload = { payloads = "lines.txt" }\n'
    )
    monkeypatch.chdir(elsewhere)
    assert call(["campaign", str(folder / "campaign.toml"), "--dry-run", "--json"]) == 0
    trial = json.loads(capsys.readouterr().out)["trials"][0]
    assert trial["client"]["command"] == [str(folder / "adapter"), str(folder / "lines.txt"), "plain.txt"]
    assert trial["workload"]["load"]["payloads"] == ["one", "two"]
    file = campaign_file.load(folder / "campaign.toml")
    assert campaign._baseline(file, folder / "campaign.toml") == str(folder / "known.toml")


#: What is wrong with a key of a file, and a part of the error about it.
WRONG = {
    "clients": ('["refrence"]', "'refrence'"),
    "brokers": ('["lokal:4.3.1x1"]', "'lokal'"),
    "scenarios": ('["produce/clam"]', "'produce/clam'"),
    "guarantees": ('["at-most"]', "'at-most'"),
    "seeds": ("{ count = 0 }", "seeds.count"),
    "budget": ('{ max_time = "soon" }', "'soon'"),
    "jobs": ('"many"', "'many'"),
    "combine": ('"pairs"', "'pairs'"),
    "thresholds": ('["given_up <"]', "thresholds[0]"),
    "baseline": ('"gone.toml"', "gone.toml"),
    "load": ("{ recods = 50 }", "'recods'"),
    "configurations": ('{ a = { acks = 7 } }', "configurations.a"),
}  # fmt: skip


@given(st.sets(st.sampled_from(sorted(WRONG)), min_size=1))
def test_every_wrong_key_of_a_campaign_file_has_its_error_beside_the_others(tmp_path_factory, keys):
    file = tmp_path_factory.mktemp("any") / "campaign.toml"
    file.write_text("".join(f"{key} = {WRONG[key][0]}\n" for key in keys))
    told = StringIO()
    with redirect_stderr(told):
        assert call(["campaign", str(file), "--dry-run"]) == 2
    errors = [line for line in told.getvalue().splitlines() if line.startswith("error[")]
    assert len(errors) == len(keys) and all(any(WRONG[key][1] in line for line in errors) for key in keys)
