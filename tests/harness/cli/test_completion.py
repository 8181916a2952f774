"""Completion in the shell, asked of the installed command as bash asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import completion
from harness.plugins import registry

PROGRAM = str(Path(sys.executable).with_name("kafka-trial"))


def completed(line: str) -> list[str]:
    """Return what bash is offered for the last word of a command line."""
    words = line.split(" ")
    env = os.environ | {
        "_KAFKA_TRIAL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run([PROGRAM], capture_output=True, text=True, env=env, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kafka-trial run network/res", ["network/reset"]),
        (
            "kafka-trial run -c aiokafka@0.1",
            ["aiokafka@0.10.0", "aiokafka@0.11.0", "aiokafka@0.12.0", "aiokafka@0.14.0"],
        ),
        ("kafka-trial run -X linger", ["linger.ms="]),
        ("kafka-trial bisect confluent-kafka 2.3", ["2.3.0"]),
    ],
)
def test_the_installed_command_completes_values(line, offered):
    assert completed(line) == offered


@pytest.mark.parametrize(
    ("complete", "begun", "offered"),
    [
        (completion.guarantees, "at-", ["at-most-once", "at-least-once"]),
        (completion.outcomes, "given", ["given_up"]),
        (completion.names("faults"), "thro", ["throttle"]),
        (completion.names("checks"), "los", ["lost", "lost-as-revoked", "lost-commit"]),
        (completion.settings, "acks=", ["acks=all", "acks=-1", "acks=0", "acks=1"]),
        (completion.settings, "enable.idempotence=t", ["enable.idempotence=true"]),
        (completion.loads, "records=10,par", ["records=10,partitions="]),
        (completion.explained, "PRD-IDM-13", ["PRD-IDM-13"]),
        (completion.explained, "linger", ["linger.ms"]),
        (completion.explained, "idem", ["idempotent"]),
    ],
)
def test_values_complete(complete, begun, offered):
    assert complete(begun) == offered


def test_brokers_complete_with_ids_that_their_kind_accepts():
    offered = completion.brokers("local:")
    assert "local:4.3.1x1" in offered
    for each in offered:
        kind, _, broker_id = each.partition(":")
        registry.broker(kind).validate(broker_id)
