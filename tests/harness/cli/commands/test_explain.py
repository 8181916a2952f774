"""``explain``: each kind of thing has a page with named facts, in text and in JSON."""

from __future__ import annotations

import json

import pytest

from harness.cli.main import call
from harness.plugins import registry
from harness.workloads.produce.setting_meanings import MEANINGS
from harness.workloads.produce.settings import SETTINGS, WITHHELD


@pytest.fixture
def explained(capsys):
    """Return a function that returns the JSON page of a name, after comparing it with the text."""

    def explain(name):
        assert call(["explain", name, "--json"]) == 0
        page = json.loads(capsys.readouterr().out)
        assert page["name"] == name and {"kind", "summary", "text"} <= page.keys()
        assert call(["explain", name]) == 0
        text = capsys.readouterr().out
        assert text.startswith(f"{name} ({page['kind']})\n") and page["summary"] in text
        facts = page.keys() - {"name", "kind", "summary", "text"}
        assert page["kind"] == "error" or all(f"\n{fact}:" in text for fact in facts)
        return page

    return explain


def test_a_requirement_has_its_sentence_source_level_and_how_it_is_judged(explained):
    page = explained("PRD-IDM-13")
    assert (
        page["kind"] == "requirement" and page["level"] == "MUST" and page["source"] == "TransactionManager"
    )
    assert page["summary"] == registry.statement("PRD-IDM-13")
    assert "sequence-reused" in page["judged by"]
    assert "broker/paused-too-long" in page["exercised by"]
    assert "mutant-reuses_sequence_after_expiry" in page["shown by mutants"]


def test_a_requirement_that_is_not_judged_yet_says_why(explained):
    assert explained("E2E-DEL-05")["not yet"] == "there are no transactions yet"


def test_a_client_has_its_versions_settings_codecs_known_failures_and_upstream_issues(explained):
    page = explained("confluent-kafka")
    assert page["versions tried"] == ["2.0.2", "2.3.0", "2.8.2", "2.16.1"]
    assert page["settings of"] == page["default version"] == "2.16.1"
    assert page["settings"]["metadata.max.age.ms"] == "topic.metadata.refresh.interval.ms"
    assert "never blocks" in page["settings that cannot be set"]["max.block.ms"]
    assert "zstd" in page["codecs"]
    assert any("oversized-batch-not-split" in entry for entry in page["known failures"])
    assert all(url.startswith("https://") for url in page["upstream issues"])


def test_a_version_of_a_client_has_its_own_settings(explained):
    page = explained("confluent-kafka@2.0.2")
    assert page["settings of"] == "2.0.2"
    assert "retry.backoff.max.ms" in page["settings that cannot be set"]
    assert "retry.backoff.max.ms" in explained("confluent-kafka@2.16.1")["settings"]


def test_a_mutant_has_its_defect(explained):
    page = explained("mutant-reuses_sequence_after_expiry")
    assert page["without the defect"] == "reference" and page["caught by"] and page["defect"]


@pytest.mark.parametrize("guarantee", ["at-most-once", "at-least-once", "idempotent", "transactional"])
def test_a_guarantee_says_what_it_promises_and_forbids(explained, guarantee):
    page = explained(guarantee)
    assert page["summary"] and page["forbids"]
    assert "corrupted" in page["forbids"] and ("lost" in page["forbids"]) == (guarantee != "at-most-once")


def test_a_setting_says_what_it_does_and_which_clients_can_set_it(explained):
    page = explained("linger.ms")
    assert page["summary"] == MEANINGS["linger.ms"]
    assert page["can be set"]["aiokafka@0.14.0"] == "as linger_ms"
    assert any(ref.startswith("kafkajs@") for ref in page["cannot be set"])
    assert page["option"] == "-X linger.ms=VALUE"


def test_a_setting_that_is_withheld_says_why(explained):
    assert WITHHELD["client.id"] in explained("client.id")["summary"]


def test_every_setting_has_a_meaning():
    assert MEANINGS.keys() == SETTINGS.keys()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("throttle", "fault"),
        ("lost", "check"),
        ("network/reset", "scenario"),
        ("local", "broker"),
        ("produce", "workload"),
        ("differs", "verdict"),
        ("jobs-value", "error"),
    ],
)
def test_a_page_of_any_other_name_has_its_kind(explained, name, kind):
    assert explained(name)["kind"] == kind
