"""The codes of errors, read from the sources: each code and its sentence are written where the error is raised.

No table of codes is kept by hand, so none can differ from the code. ``docs/reference/messages.md`` and ``kafka-trial
explain`` are made from this.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from harness.system import own_packages

#: The class from which every error with a code derives.
ROOT = "Coded"
#: The fields of a node that hold statements, or what holds some.
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


class Raised(NamedTuple):
    """A place that makes an error: its code, what makes it, the template, the names of the parameters, file and line.

    ``maker`` is the class of the error, or a function that returns it.
    """

    code: str
    maker: str
    template: str
    params: frozenset[str]
    place: str


def sources(mentioned: str = "") -> dict[str, ast.Module]:
    """Return the parsed modules of our packages by file name, or only those whose text contains ``mentioned``."""
    found = {}
    for name in own_packages.NAMES:
        spec = find_spec(f"{own_packages.PREFIX}{name}")
        root = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
        for path in sorted(root.rglob("*.py")) if spec else ():
            if mentioned in (text := path.read_text()):
                found[f"{name}/{path.relative_to(root)}"] = ast.parse(text)
    return found


def calls(modules: Mapping[str, ast.Module]) -> Iterator[Raised]:
    """Yield every call with two texts in a row of which the first has the form of a code."""
    for place, module in modules.items():
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and (found := _code_and_template(node)) is not None:
                params = frozenset(keyword.arg for keyword in node.keywords if keyword.arg)
                yield Raised(*found, params, f"{place}:{node.lineno}")


def raised(modules: Mapping[str, ast.Module]) -> dict[Raised, str]:
    """Return every place that makes an error, with the name of the error's class."""
    bases = class_bases(modules.values())
    makers = {name: name for name in bases if ROOT in above(name, bases)}
    for node in _statements(modules.values()):
        if isinstance(node, ast.ImportFrom):
            makers |= {each.asname: each.name for each in node.names if each.asname and each.name in makers}
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            of = next(
                (name for name in re.findall(r"\w+", ast.unparse(node.returns)) if name in makers), None
            )
            if of is not None and node.name not in makers:
                makers[node.name] = of
    return {call: makers[call.maker] for call in calls(modules) if call.maker in makers}


def above(name: str, bases: Mapping[str, set[str]]) -> set[str]:
    """Return the class and all classes from which it derives."""
    found, left = set(), {name}
    while left:
        found |= left
        left = {base for each in left for base in bases.get(each, ())} - found
    return found


def class_bases(modules: Iterable[ast.Module]) -> dict[str, set[str]]:
    """Return the names of the direct bases of each class. Classes of one name count as one."""
    bases: dict[str, set[str]] = {}
    for node in _statements(modules):
        if isinstance(node, ast.ClassDef):
            bases.setdefault(node.name, set()).update(map(_name, node.bases))
    return bases


def _statements(modules: Iterable[ast.Module]) -> Iterator[ast.AST]:
    """Yield each module, then its statements in the order of :func:`ast.walk`. Most other nodes are expressions."""
    for module in modules:
        left: deque[ast.AST] = deque([module])
        while left:
            yield (node := left.popleft())
            for block in BLOCKS:
                left.extend(getattr(node, block, ()))


def _code_and_template(call: ast.Call) -> tuple[str, str, str] | None:
    texts = [arg.value if isinstance(arg, ast.Constant) else None for arg in call.args]
    for code, template in pairwise(texts):
        if isinstance(code, str) and isinstance(template, str) and CODE.fullmatch(code):
            return code, _name(call.func), template
    return None


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return _name(func)
        case _:
            return ""
