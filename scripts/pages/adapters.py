"""The adapter contract on one page, its tables made from its own types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import getdoc
from typing import Any

import msgspec

from clients.skeletons.languages import LANGUAGES
from harness.adapter.life import LIFE, Life
from harness.model.consumer_contract import ConsumerCommand
from harness.model.contract import (
    CONTRACT_VERSION,
    ClientEvent,
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

#: A client writes no such field.
SET_BY_THE_HARNESS = ("producer",)
#: The commands of every trial, and those of the workloads.
COMMANDS = (
    Configure,
    *(made for kind in registry.table("workloads").values() for made in kind.commands),
    *ConsumerCommand.__args__,
    Flush,
    Close,
)

ABOUT = """\
Any program that speaks the contract can be put on trial, in any language. The harness starts it, writes one command
per line to its stdin, and reads one event per line from its stdout. Both are JSON. All other output of the program
goes to stderr and is kept with the trial.

## Begin

```
kafka-trial init adapter --language LANGUAGE --name my-client
```

creates a folder with a program that has no client yet, but already builds and passes the contract test-suite. It
contains a copy of the language's contract library, one file with five methods to fill in, the build file, and a
README. In that folder:
"""

TRY = """\
`kafka-trial check-adapter -- COMMAND` runs the test-suite below, and reports the first violation in each case.
`kafka-trial run produce/calm -- COMMAND` then runs it against real brokers without faults: a client that keeps its
promises passes. `kafka-trial campaign FILE -- COMMAND` runs it together with other clients. To register the client
by name, with all of its versions, see "Add a client" in [CONTRIBUTING.md](../../CONTRIBUTING.md).

For another language, this page is enough to write the program; it takes a few hundred lines.
"""

LIFE_OF_ONE = """\
`startup_complete` is written at once, before anything that takes time. Commands are executed one after the other.
`stats` are written every second, even while the client blocks. The end of stdin, SIGTERM and SIGINT mean `close`
with the id -1; after a signal, queued commands are not executed. The program answers an unknown command with
`unsupported`, and a line that is not a command with `fatal` and exit code 2. `shutdown_complete` is the last line,
and the exit code is 0.
"""

EXAMPLE = "`>` is what the program reads, `<` what it writes:\n"

HONESTY = """\
An adapter reports exactly what its client reports. The verdicts depend on that:

- **Settings.** They have the names of Kafka's Java producer. Each one ends in `applied`, under the client's own
  name, if it is set exactly as requested; otherwise in `not_set`, with the reason: there is no such setting, it has
  another meaning, or it accepts other values. A setting that is not set is shown in the report and does not count
  against the client. But without `acks`, or under the idempotent guarantee without `enable.idempotence`, the trial
  is unsupported. `fatal` with the error `ConfigRefused` means that the client itself refuses the settings; the
  trial is then unsupported too.
- **The client's own settings.** An adapter with the feature `client_config` may get `client_config` in `configure`:
  settings under the client's own names, as text. It passes them on unchanged, except those that would override what
  a Java name has set. Those, and names that the client does not have, belong in `client_not_set` of `configured`,
  with the reason. An adapter without the feature never gets the field.
- **Results.** Each record has exactly one. `ok`: the client says that it was written; the offset is -1 if the client
  does not report it. `fail`: it was not written and never will be, which is only true if it was refused before the
  client accepted it. `info`: everything else, where the outcome is unknown. A timeout is `info`, and so is any error
  after an attempt to send.
- **No additions.** The adapter does not retry, send twice, or hide errors. A record whose result the client never
  reports stays without a result.
- **In time.** `flush` and `close` are answered within their `timeout_ms`, done or not.
- **The true version.** `client_version` is read from the library that runs. A trial of another version is not
  evidence.
"""

TIMES = """\
All `_ns` except `wall_ns` are the system's CLOCK_MONOTONIC in nanoseconds, and events are written in the order of
their times. Collect results for some milliseconds: one `op_complete` has columns for many records. A field in
brackets may be left out.
"""

#: When the example begins, on both clocks.
MONO_NS, WALL_NS, MS = 8_031_000_000_000, 1_780_000_000_000_000_000, 1_000_000


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
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
        "## Rules\n",
        HONESTY,
        f"## Messages, version {CONTRACT_VERSION} of the contract\n",
        TIMES,
        "### Commands\n",
        table(("`cmd`", "fields", "what"), _messages(COMMANDS)),
        "### Events\n",
        f"Each also has {_fields(Event, SET_BY_THE_HARNESS)}. Events with other names are noted and left out.\n",
        table(("`name`", "fields", "what"), _messages(ClientEvent.__args__, Event.__struct_fields__)),
        "### The order of events\n",
        table(("while it is", "these may follow, with the next state"), _life()),
        "## The test-suite\n",
        table(("case", "what it checks"), ((code(name), _first_line(case)) for name, case in CASES.items())),
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
    """Return the fields of a message with their JSON types, and with brackets around optional ones."""
    _, components = msgspec.json.schema_components([kind])
    schema = components[kind.__name__]
    told = []
    for name in kind.__struct_encode_fields__:
        if name in without:
            continue
        field = f"{code(name)}: {_type(schema['properties'][name], components)}"
        told.append(field if name in schema["required"] else f"[{field}]")
    return ", ".join(told)


def _type(schema: dict[str, Any], components: dict[str, Any]) -> str:
    if "$ref" in schema:
        part = components[schema["$ref"].rpartition("/")[2]]["properties"]
        return f"{{{', '.join(f'{code(name)}: {_type(part[name], components)}' for name in part)}}}"
    if "anyOf" in schema:
        return " or ".join(_type(each, components) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(f'"{each}"' for each in schema["enum"])
    if schema["type"] == "array" and "prefixItems" in schema:
        return f"[{', '.join(_type(each, components) for each in schema['prefixItems'])}]"
    if schema["type"] == "array":
        item = _type(schema["items"], components)
        return f"list of ({item})" if " or " in item else f"list of {item}"
    if schema["type"] == "object":
        return f"object of {_type(schema['additionalProperties'], components)}"
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
    """Return a short session as written to the pipes; ``>`` marks what the program reads."""
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
