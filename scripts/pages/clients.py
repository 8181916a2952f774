"""The clients: which can be put on trial, at which versions, and which of Java's settings each supports.

All of this was reported by the clients themselves (``scripts/probe_clients.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from harness.plugins import registry
from harness.plugins.client import ClientKind
from pages.markdown import NOTE, code, table
from suites.contract.probe import Capabilities, ConsumerCapabilities

ADAPTERS = Path(__file__).parents[2] / "clients" / "adapters"

ABOUT = """\
`NAME@VERSION` puts any published version on trial; `NAME` alone takes the default. The versions below are those that
`make test-clients` tries. Each of them passes the contract test-suite, and produces without findings when there are no
faults. The exceptions of old versions are in `clients/known_differences.toml`, each with its source.

All clients are given the same explicit settings, with the names of Kafka's Java client. The tables below show what each
client answered to `python scripts/probe_clients.py`, for its producer and, if it has one, for its consumer. A setting
that a client does not support is part of the evidence of each of its trials, and checks that depend on it do not judge
that client.
"""


HEAD = ("Java's name", "its own", "value, or why it cannot be set")
#: What clients' consumers differ in.
SHOWN_FEATURES = ("consumer_protocol", "static_membership", "read_committed", "wakeup")
_STORED = (
    "An automatic commit covers every record that the application has taken, processed or not. This is the client's "
    "default (`enable.auto.offset.store=true`), and it is on trial with it."
)
#: What the events of a client's consumer do not say, or say differently, and why.
CONSUMER_NOTES = {
    "confluent-kafka": _STORED,
    "confluent-kafka-go": _STORED,
    "rdkafka": (
        f"{_STORED} Since 0.36 the crate does not tell the result of a commit that does not wait for it "
        "([issue 856](https://github.com/fede1024/rust-rdkafka/issues/856)), so the program offers no such commits "
        "there. Versions before 0.32.1 report lost partitions as revoked, because the crate does not tell which they "
        "are. Leader epochs of records and the member's id are unknown, because the crate does not report them."
    ),
    "sarama": (
        "The `Commit` of its session returns nothing. Its errors arrive on the channel of all the errors of the group, "
        "soon after the call and without its name. The program reports a commit as done if no error arrives within "
        "20 ms. It therefore does not know whether an error in that time belongs to the commit, and an error that "
        "arrives later is missing from the commit's result. It is then only a `consumer_error`."
    ),
}


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    told = {name: answers for name in _names() if (answers := _told(name))}
    sections = (_section(registry.client(name), answers) for name, answers in told.items())
    return {"clients.md": "\n".join([NOTE, "# Clients", "", ABOUT, _overview(told), *sections])}


def _names() -> list[str]:
    return [name for name in registry.names("clients") if not name.startswith("mutant-")]


def _told(name: str) -> dict[str, Capabilities]:
    path = ADAPTERS / name.replace("-", "_") / "capabilities.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Capabilities]) if path.exists() else {}


def _overview(told: Mapping[str, Mapping[str, Capabilities]]) -> str:
    head = (
        "client",
        "language",
        "default",
        "versions tried",
        "idempotence",
        "codecs (default version)",
        "consumer (default version)",
    )
    return table(head, (_row(registry.client(name), answers) for name, answers in told.items()))


def _row(kind: ClientKind, told: Mapping[str, Capabilities]) -> tuple[str, ...]:
    return (
        f"[{kind.name}](#{kind.name})",
        kind.language,
        kind.default_version,
        ", ".join(told),
        _since("idempotence", told),
        ", ".join(told[kind.default_version].codecs),
        _consumes(told[kind.default_version]),
    )


def _consumes(told: Capabilities) -> str:
    """Return what the consumer can do, in the words of the contract's features."""
    if told.consumer is None:
        return "no"
    return ", ".join([*told.consumer.assignors, *(each for each in SHOWN_FEATURES if each in told.features)])


def _since(feature: str, told: Mapping[str, Capabilities]) -> str:
    having = [version for version, answers in told.items() if feature in answers.features]
    if len(having) == len(told):
        return "yes"
    return ", ".join(having) or "no"


def _section(kind: ClientKind, told: Mapping[str, Capabilities]) -> str:
    now = told[kind.default_version]
    wraps = f", on {now.library_version}" if now.library_version else ""
    settings = table(HEAD, _settings(now))
    lines = [f"## {kind.name}", "", f"{kind.summary}. Version {kind.default_version}{wraps}:", "", settings]
    if now.idempotent_not_set:
        lines += ["With idempotence:", "", *_reasons(now.idempotent_not_set), ""]
    if now.consumer is not None:
        lines += ["Its consumer:", "", table(HEAD, _settings(now.consumer)), ""]
        lines += [CONSUMER_NOTES[kind.name], ""] if kind.name in CONSUMER_NOTES else []
    if differences := list(_differences(kind.default_version, told)):
        lines += ["Other versions:", "", *differences, ""]
    return "\n".join(lines)


def _settings(told: Capabilities | ConsumerCapabilities) -> Iterator[tuple[str, str, str]]:
    for name in sorted(told.applied | told.not_set):
        if name in told.applied:
            own, value = told.applied[name]
            yield code(name), code(own), str(value)
        else:
            yield code(name), "", f"not set: {told.not_set[name]}"


def _reasons(not_set: Mapping[str, str]) -> list[str]:
    return [f"- {code(name)}: {why}" for name, why in not_set.items()]


def _differences(default: str, told: Mapping[str, Capabilities]) -> Iterator[str]:
    """Yield the settings that another version supports or lacks, unlike the default one."""
    for version, answers in told.items():
        lacks = sorted(set(answers.not_set) - set(told[default].not_set))
        takes = sorted(set(told[default].not_set) - set(answers.not_set))
        codecs = "" if answers.codecs == told[default].codecs else f"codecs {', '.join(answers.codecs)}"
        parts = [
            f"cannot set {', '.join(map(code, lacks))}" if lacks else "",
            f"can set {', '.join(map(code, takes))}" if takes else "",
            codecs,
        ]
        if any(parts):
            yield f"- {version}: {'; '.join(part for part in parts if part)}"
