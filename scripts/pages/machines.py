"""The oracle's state machines with their sources: one page per machine, and an index."""

from __future__ import annotations

from pages.markdown import NOTE, table
from suites.oracle import BROKER_MACHINES, CONSUMER_MACHINES, MACHINES
from suites.oracle.machine import MachineOracle

ABOUT = """\
What producers, consumers and brokers may do, as an oracle ([suites/oracle](../../../suites/oracle/__init__.py)). It is
written from the sources of Kafka 4.1.1, and not from the reference client. Each legal move names the class and method,
the KIP or the behaviour that it comes from. The check [`transition`](../checks.md#transition) judges traces of
producers by these tables, and properties judge consumers and the scripted brokers.

The reference client has its own tables, such as [clients/reference/states.py](../../../clients/reference/states.py).
Tests fail if the two differ, and show both sides
([producers](../../../tests/clients/reference/test_states.py),
[consumers](../../../tests/clients/reference/consumer/test_state_tables.py)).
"""
ALL = {**MACHINES, **CONSUMER_MACHINES, **BROKER_MACHINES}
DEPARTURES = """\
## Where the reference client differs from Java

It makes these moves for another reason, or at another time.
"""
LEFT_OUT = """\
## What the reference client does not do

Java's client has these moves, or does not refuse them. In the reference client they are illegal.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path below ``docs/reference/``."""
    generated = {f"machines/{name}.md": _page(oracle) for name, oracle in ALL.items()}
    return generated | {"machines/README.md": _index()}


def _index() -> str:
    rows = [
        (
            f"[{name}]({name}.md)",
            oracle.initial,
            len(oracle.states),
            len(oracle.moves),
            sum(1 for move in oracle.moves if move.departure),
            len(oracle.left_out),
        )
        for name, oracle in sorted(ALL.items())
    ]
    heads = ("machine", "starts in", "states", "legal moves", "that differ from Java", "left out")
    return f"# State machines\n\n{NOTE}\n{ABOUT}\n{table(heads, rows)}"


def _page(oracle: MachineOracle) -> str:
    moves = [(move.before, move.event, move.after, move.source) for move in oracle.moves]
    parts = [
        f"# {oracle.name}\n\n{NOTE}\n{oracle.about}\n\n{_diagram(oracle)}",
        f"{table(('from', 'event', 'to', 'source'), moves)}\nAll other moves are illegal. {_violated(oracle)}\n",
    ]
    departures = [(f"{move.before} {move.event}", move.departure) for move in oracle.moves if move.departure]
    if departures:
        parts.append(f"{DEPARTURES}\n{table(('move', 'difference, and why'), departures)}")
    left_out = [(row.before, row.event, row.after, row.source, row.reason) for row in oracle.left_out]
    if left_out:
        parts.append(f"{LEFT_OUT}\n{table(('from', 'event', 'to', 'source', 'reason'), left_out)}")
    return "\n".join(parts)


def _violated(oracle: MachineOracle) -> str:
    others = sorted(set(oracle.special.values()))
    told = f", or {' or '.join(others)} once it has ended" if others else ""
    return f"They violate {oracle.requirement}{told}."


def _diagram(oracle: MachineOracle) -> str:
    nodes = {name: f"s{number}" for number, name in enumerate(oracle.states)}
    lines = [f"    [*] --> {nodes[oracle.initial]}"]
    lines += [f'    state "{name}" as {node}' for name, node in nodes.items()]
    lines += [f"    {nodes[move.before]} --> {nodes[move.after]}: {move.event}" for move in oracle.moves]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"]) + "\n"
