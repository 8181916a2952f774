"""The reference client's transition tables as diagrams: a page a machine, and their index."""

from __future__ import annotations

from enum import Enum
from typing import Any

from clients.reference import states
from pages.markdown import NOTE, table

Machine = states.Machine[Any, Any]

ABOUT = """\
Every state machine of the reference client is a table in
[clients/reference/states.py](../../../clients/reference/states.py): what it does not have is illegal, and raises.
"""


def pages() -> dict[str, str]:
    """File below ``docs/reference/`` -> its text."""
    found = [machine for machine in vars(states).values() if isinstance(machine, states.Machine)]
    generated = {f"machines/{_file(machine)}": _page(machine) for machine in found}
    if len(generated) < len(found):
        raise ValueError("two machines have one name")
    return generated | {"machines/README.md": _index(found)}


def _file(machine: Machine) -> str:
    return f"{machine.name.replace(' ', '-')}.md"


def _index(found: list[Machine]) -> str:
    rows = [
        (
            f"[{machine.name}]({_file(machine)})",
            machine.initial.value,
            _count_of_states(machine),
            len(machine.transitions),
        )
        for machine in sorted(found, key=lambda machine: machine.name)
    ]
    listed = table(("machine", "starts in", "states", "legal moves"), rows)
    return f"# State machines\n\n{NOTE}\n{ABOUT}\n{listed}"


def _count_of_states(machine: Machine) -> int:
    states_of: type[Enum] = type(machine.initial)
    return len(states_of)


def _page(machine: Machine) -> str:
    moves = [(a.value, event.value, b.value) for (a, event), b in machine.transitions.items()]
    nodes = {
        name: f"s{number}"
        for number, name in enumerate(dict.fromkeys(x for a, _, b in moves for x in (a, b)))
    }
    diagram = [f"    [*] --> {nodes[machine.initial.value]}"]
    diagram += [f'    state "{name}" as {node}' for name, node in nodes.items()]
    diagram += [f"    {nodes[a]} --> {nodes[b]}: {event}" for a, event, b in moves]
    body = "\n".join(["```mermaid", "stateDiagram-v2", *diagram, "```"])
    return f"# {machine.name}\n\n{NOTE}\n{body}\n\n{table(('from', 'event', 'to'), moves)}\nAll else is illegal.\n"
