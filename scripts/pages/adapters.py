"""The adapter contract on one page, its tables made from its own types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import getdoc
from typing import Any

import msgspec

from clients.skeletons.languages import LANGUAGES
from harness.adapter.protocol_rules import LIFE, Life
from harness.model.contract import (
    CONTRACT_VERSION,
    AnyEvent,
    Close,
    Command,
    Configure,
    Configured,
    Event,
    Flush,
    OpComplete,
    OpInvoke,
    ShutdownComplete,
    StartupComplete,
)
from harness.plugins import registry
from harness.workloads.produce.commands import Produce
from pages.markdown import NOTE, code, table
from suites.contract import CASES

#: Those of every trial, and those of the workloads.
COMMANDS = (
    Configure,
    *(made for kind in registry.table("workloads").values() for made in kind.commands),
    Flush,
    Close,
)

ABOUT = """\
Any program that speaks the contract can be put on trial, in whatever language its client is. The harness starts
it, writes one command a line to its stdin and reads one event a line from its stdout, JSON each. What the
program prints otherwise goes to stderr, and is kept with the trial.

## Begin

```
kafka-trial init adapter --language LANGUAGE --name my-client
```

writes a folder with a program that builds and passes the contract's test-suite as it is, with no client in it
yet: a copy of the language's contract library, one file with five methods to fill in, the build file, and a
README. In that folder:
"""

TRY = """\
`kafka-trial check-adapter -- COMMAND` runs the test-suite below, and names the first offence of each case.
`kafka-trial run produce/calm -- COMMAND` then tries it on real brokers that nothing disturbs: a client that
keeps its promises passes. `kafka-trial campaign FILE -- COMMAND` tries it beside other clients. To have the
client among the named ones, at any version, see "Add a client" in [CONTRIBUTING.md](../../CONTRIBUTING.md).

A program in another language is written from this page; a few hundred lines will do.
"""

LIFE_OF_ONE = """\
`startup_complete` comes at once, before anything that takes time. Commands are carried out one after the other.
`stats` come each second, also while the client blocks. The end of stdin, SIGTERM and SIGINT mean `close`,
with -1 as its id, and after a signal what is still queued is not begun. A command that the program does not
know is answered by `unsupported`; a line that is no command by `fatal` and exit code 2. `shutdown_complete` is
the last line, and the exit code is 0.
"""

EXAMPLE = "`>` is what the program reads, `<` what it writes:\n"

HONESTY = """\
An adapter says what its client says, and adds nothing. The verdicts stand on that:

- **Settings.** They come in the names of Kafka's Java producer. Each one ends in `applied`, under the client's
  own name, if it is set exactly as asked; else in `not_set`, with the reason: there is no such setting, it
  means something else, it takes another value. A setting that is not set is shown, and not held against the
  client; but without `acks`, or under the idempotent guarantee without `enable.idempotence`, the trial is
  unsupported. `fatal` with the error `ConfigRefused` is for the client's own refusal, and comes to the same.
- **Results.** Each record has one, exactly. `ok`: the client says it was written; offset -1 where it does not
  say where. `fail`: it was not and never will be, which only holds of what was refused before the client took
  it. `info`: all else; nobody knows. A timeout is `info`, and so is any error after an attempt to send.
- **Nothing of its own.** No retry, no second send, no error kept back. A record of which the client never tells
  stays without a result.
- **In time.** `flush` and `close` are answered within their `timeout_ms`, done or not.
- **Its true version.** `client_version` is read from the library that runs; a trial of another one is no
  evidence.
"""

TIMES = """\
All `_ns` but `wall_ns` are CLOCK_MONOTONIC of the system, in nanoseconds, and events are written in its order.
Results are best gathered for some milliseconds: one `op_complete` has columns for many records. A field in
brackets may be left out.
"""

#: When the example begins, by both clocks.
MONO_NS, WALL_NS, MS = 8_031_000_000_000, 1_780_000_000_000_000_000, 1_000_000


def pages() -> dict[str, str]:
    """File below ``docs/reference/`` -> its text."""
    parts = [
        "# Adapter contract\n",
        NOTE,
        ABOUT,
        table(("language", "to fill in", "needs", "build", "COMMAND"), _languages()),
        TRY,
        "## One life\n",
        LIFE_OF_ONE,
        EXAMPLE,
        f"```\n{_example()}```\n",
        "## What is asked of it\n",
        HONESTY,
        f"## Messages, version {CONTRACT_VERSION} of the contract\n",
        TIMES,
        "### Commands\n",
        table(("`cmd`", "fields", "what"), _messages(COMMANDS)),
        "### Events\n",
        f"Each also has {_fields(Event, ())}. Those of another name are noted, and left out.\n",
        table(("`name`", "fields", "what"), _messages(AnyEvent.__args__, Event.__struct_fields__)),
        "### Which event may come when\n",
        table(("while it is", "these may come, and what it is then"), _life()),
        "## The test-suite\n",
        table(("case", "what it asks"), ((code(name), _first_line(case)) for name, case in CASES.items())),
    ]
    return {"adapters.md": "\n".join(parts)}


def _languages() -> Iterator[tuple[str, ...]]:
    for each in LANGUAGES.values():
        yield each.name, code(each.program), each.needs, code(each.build), code(each.command)


def _messages(
    kinds: Iterable[type[msgspec.Struct]], shared: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    for kind in kinds:
        what = " ".join((getdoc(kind) or "").split()).replace("``", "`")
        yield code(kind.__struct_config__.tag), _fields(kind, shared), what


def _fields(kind: type[msgspec.Struct], without: tuple[str, ...]) -> str:
    """The fields of a message with their types in JSON's words; one that may be left out in brackets."""
    _, components = msgspec.json.schema_components([kind])
    schema = components[kind.__name__]
    told = []
    for name in kind.__struct_fields__:
        if name in without:
            continue
        field = f"{code(name)}: {_type(schema['properties'][name])}"
        told.append(field if name in schema["required"] else f"[{field}]")
    return ", ".join(told)


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if schema["type"] == "array" and "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    if schema["type"] == "array":
        return f"list of ({item})" if " " in (item := _type(schema["items"])) else f"list of {item}"
    if schema["type"] == "object":
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema["type"])


def _life() -> Iterator[tuple[str, str]]:
    for life in Life:
        may = [
            f"{code(kind.__struct_config__.tag)}{'' if after is life else f' ({after.value})'}"
            for (before, kind), after in LIFE.items()
            if before is life
        ]
        yield life.value, ", ".join(may) or "nothing"


def _example() -> str:
    """A short life, as it goes over the pipes; ``>`` is what the program reads."""
    config = {"acks": "all", "linger.ms": 5}
    about = {"client": "my-client", "client_version": "1.2.3", "language": "go", "features": ["producer"]}
    told = {
        "applied": {"acks": ("RequiredAcks", "all")},
        "not_set": {"linger.ms": "there is no such setting"},
    }
    sent = {"op": "send", "id": 2}
    results = {"outcome": ["ok", "info"], "error": [None, "i/o timeout"], "records": [0, 1]}
    places = {"partition": [3, -1], "offset": [17, -1]}
    times = {"invoke_ns": [_at(2), _at(2)], "complete_ns": [_at(2) + MS, _at(3)]}
    closed = {"op": "close", "id": 3, "outcome": ["ok"], "error": [None]}
    lines: tuple[Any, ...] = (
        StartupComplete(**_stamp(0), **about, contract_version=CONTRACT_VERSION),
        Configure(id=1, run_id="r", instance="p1", role="producer", config=config),
        Configured(**_stamp(1), id=1, **told),
        Produce(id=2, topic="t", first=0, keys=["k0", None], values=["v0", "v1"]),
        OpInvoke(**_stamp(2), **sent, first=0, count=2),
        OpComplete(**_stamp(3), **sent, **results, **places, **times),
        Close(id=3, timeout_ms=1_000),
        OpInvoke(**_stamp(4), op="close", id=3),
        OpComplete(**_stamp(5), **closed, invoke_ns=[_at(4)], complete_ns=[_at(5)]),
        ShutdownComplete(**_stamp(6)),
    )
    return "".join(
        f"{'>' if isinstance(line, Command) else '<'} {msgspec.json.encode(line).decode()}\n"
        for line in lines
    )


def _stamp(seq: int) -> dict[str, int]:
    return {"seq": seq, "mono_ns": _at(seq), "wall_ns": WALL_NS + _at(seq) - MONO_NS}


def _at(seq: int) -> int:
    return MONO_NS + seq * 4 * MS


def _first_line(case: object) -> str:
    return (getdoc(case) or "").splitlines()[0]
