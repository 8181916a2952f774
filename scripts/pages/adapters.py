"""How to put a client of one's own on trial: the contract on one page, its tables made from the contract's own types."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc
from typing import Any

import msgspec

from clients.skeletons.languages import LANGUAGES
from harness.contract import (
    CONTRACT_VERSION,
    AnyEvent,
    Close,
    Command,
    Configure,
    Configured,
    Event,
    OpComplete,
    OpInvoke,
    Produce,
    ShutdownComplete,
    StartupComplete,
)
from harness.conversation_rules import LIFE, Life
from pages.markdown import NOTE, code, table
from suites.contract import CASES

ABOUT = """\
Any program that speaks the contract can be put on trial, in whatever language its client is. The harness starts it, writes
one command a line to its stdin and reads one event a line from its stdout, JSON each. What the program prints otherwise
goes to stderr, and is kept with the trial.

## Begin

```
kafka-trial init adapter --language LANGUAGE --name my-client
```

writes a folder with a program that builds and passes the contract's test-suite as it is, with no client in it yet: a copy of
the language's contract library, one file with five methods to fill in, the build file, and a README. In that folder:
"""

TRY = """\
`kafka-trial check-adapter -- COMMAND` runs the test-suite below, and names the first offence of each case.
`kafka-trial run produce/calm -- COMMAND` then tries it on real brokers that nothing disturbs: a client that keeps its
promises passes. After that every command takes `-- COMMAND`: `run`, `campaign`, `replay`. To have the client among the named
ones, at any version, see "Add a client" in [CONTRIBUTING.md](../CONTRIBUTING.md).

A program in another language is written from this page; a few hundred lines will do.
"""

LIFE_OF_ONE = """\
`startup_complete` comes at once, before anything that takes time. Commands are carried out one after the other. `stats`
come each second, also while the client blocks. The end of stdin, SIGTERM and SIGINT mean `close` (id -1), and after a signal
what is still queued is not begun. A command that the program does not know is answered by `unsupported`; a line that is no
command by `fatal` and exit code 2. `shutdown_complete` is the last line, and the exit code is 0.
"""

HONESTY = """\
An adapter says what its client says, and adds nothing. The verdicts stand on that:

- **Settings.** They come in the names of Kafka's Java producer. Each one ends in `applied`, under the client's own name, if
  it is set exactly as asked; else in `not_set`, with the reason: there is no such setting, it means something else, it takes
  another value. A setting that is not set is shown, and not held against the client. `fatal` with the error `ConfigRefused` is
  for the client's own refusal, and makes the trial unsupported.
- **Results.** Each record has one, exactly. `ok`: the client says it was written; offset -1 where it does not say where.
  `fail`: it was not and never will be, which only holds of what was refused before the client took it. `info`: all else;
  nobody knows. A timeout is `info`, and so is any error after an attempt to send.
- **Nothing of its own.** No retry, no second send, no error kept back. A record of which the client never tells stays
  without a result.
- **In time.** `flush` and `close` are answered within their `timeout_ms`, done or not.
- **Its true version.** `client_version` is read from the library that runs; a trial of another one is no evidence.
"""

TIMES = """\
All `_ns` but `wall_ns` are CLOCK_MONOTONIC of the system, in nanoseconds, and events are written in its order. Results are
best gathered for some milliseconds: one `op_complete` has columns for many records.
"""

STAMP = {"mono_ns": 8_031_000_000_000, "wall_ns": 1_780_000_000_000_000_000}


def pages() -> dict[str, str]:
    """File below ``docs/`` -> its text."""
    parts = [
        "# Put a client of your own on trial\n",
        NOTE,
        ABOUT,
        table(("language", "to fill in", "needs", "build", "COMMAND"), _languages()),
        TRY,
        "## One life\n",
        LIFE_OF_ONE,
        f"```\n{_example()}```\n",
        "## What is asked of it\n",
        HONESTY,
        f"## Messages, version {CONTRACT_VERSION} of the contract\n",
        TIMES,
        "### Commands\n",
        table(("`cmd`", "fields", "what"), _messages(Command)),
        "### Events\n",
        f"Each also has {_fields(Event, ())}. Those of another name are noted, and left out.\n",
        table(("`name`", "fields", "what"), _messages(AnyEvent, Event.__struct_fields__)),
        "### Which event may come when\n",
        table(("while it is", "these may come, and what it is then"), _life()),
        "## The test-suite\n",
        table(("case", "what it asks"), ((code(name), _first_line(case)) for name, case in CASES.items())),
    ]
    return {"adapters.md": "\n".join(parts)}


def _languages() -> Iterator[tuple[str, ...]]:
    for each in LANGUAGES.values():
        yield each.name, code(each.program), each.needs, code(each.build), code(each.command)


def _messages(kinds: Any, shared: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for kind in kinds.__args__:
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
    """A short life, as it goes over the pipes."""
    config = {"acks": "all", "linger.ms": 5}
    sent, at = {"op": "send", "id": 2}, STAMP["mono_ns"]
    results = {"invoke_ns": [at, at], "complete_ns": [at + 4_000_000, at + 9_000_000]}
    about = {"client": "my-client", "client_version": "1.2.3", "language": "go", "features": ["producer"]}
    lines: list[Any] = [
        StartupComplete(seq=0, **STAMP, **about, contract_version=CONTRACT_VERSION),
        Configure(id=1, run_id="r", instance="p1", role="producer", config=config),
        Configured(
            seq=1,
            **STAMP,
            id=1,
            applied={"acks": ("RequiredAcks", "all")},
            not_set={"linger.ms": "there is none"},
        ),
        Produce(id=2, topic="t", first=0, keys=["k0", None], values=["v0", "v1"]),
        OpInvoke(seq=2, **STAMP, **sent, first=0, count=2),
        OpComplete(
            seq=3,
            **STAMP,
            **sent,
            outcome=["ok", "info"],
            error=[None, "i/o timeout"],
            **results,
            records=[0, 1],
            partition=[3, -1],
            offset=[17, -1],
        ),
        Close(id=3, timeout_ms=1_000),
        OpInvoke(seq=4, **STAMP, op="close", id=3),
        OpComplete(
            seq=5,
            **STAMP,
            op="close",
            id=3,
            outcome=["ok"],
            error=[None],
            invoke_ns=[at],
            complete_ns=[at],
        ),
        ShutdownComplete(seq=6, **STAMP),
    ]
    arrows = (
        (">" if isinstance(line, Command) else "<", msgspec.json.encode(line).decode()) for line in lines
    )
    return "".join(f"{arrow} {line}\n" for arrow, line in arrows)


def _first_line(case: object) -> str:
    return (getdoc(case) or "").splitlines()[0]
