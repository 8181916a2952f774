"""Find the messages of the code: arguments of KafkaTrialError classes, and templates of reasons and anomalies.

They are drawn for a reviewer. The word list does not check them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from wording.passages import Passage

#: Classes whose second argument is the template of a sentence.
TEMPLATES = {"ReasonKind", "Anomaly", "AnomalyKind"}


def errors(trees: Iterable[ast.Module], root: str = "KafkaTrialError") -> set[str]:
    """Return the names of the classes that derive from ``root``, itself included."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    known = {root}
    while more := {name for name, of in bases.items() if of & known} - known:
        known |= more
    return known


def messages(tree: ast.Module, errors: set[str]) -> Iterator[Passage]:
    """Yield the texts that these exceptions and templates are given. A placeholder is the source of its value."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if (name := _name(node.func)) in TEMPLATES:
            given = node.args[1:2] + [each.value for each in node.keywords if each.arg == "template"]
        elif name in errors:
            given = node.args + [each.value for each in node.keywords]
        else:
            continue
        for argument in given:
            for text in _texts(argument):
                yield Passage(argument.lineno, "message", text)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _texts(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may have as its value. A single word is a code and not a text."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BinOp):
        yield from _texts(node.left)
        yield from _texts(node.right)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(_part(part) for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node.value


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return str(node.value) if isinstance(node, ast.Constant) else ""
