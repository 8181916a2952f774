"""The build hook of the wheel: all packages below one, ``kafka_trial``, so that none has the name of a user's package.

In the repository our packages lie at the top. The wheel has ``kafka_trial/harness``, ``kafka_trial/clients`` and so on
(``sources`` in ``pyproject.toml``); this hook changes their imports and the entry points accordingly. Lines keep their
numbers. What cannot be changed with certainty, such as the name of a module in a string, ends the build.
"""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OURS = ("harness", "clients", "faults", "suites", "reports")
ROOT = "kafka_trial"
_REFERENCE = re.compile(rf"(?:{'|'.join(OURS)})(?:\.\w+)*")


class NotMovable(ValueError):
    """A source that would not work below another package."""


class WheelBuild(BuildHookInterface):  # type: ignore[type-arg]
    """Puts rewritten modules in the place of the repository's, in a standard wheel and not in an editable one."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Rewrite each module into a temporary folder, and the entry points in the metadata."""
        if version != "standard":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="wheel-"))
        try:
            build_data["force_include"].update(self._moved_files())
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        core = self.metadata.core
        for group in (core.scripts, *core.entry_points.values()):
            group.update(moved_entry_points(group))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if version == "standard":
            shutil.rmtree(self._folder)

    def _moved_files(self) -> dict[str, str]:
        """Write the rewritten modules. Return the place of each in the wheel."""
        selected = self.build_config.builder.recurse_selected_project_files()
        files = [file for file in selected if file.path.endswith(".py")]
        modules = {module_name(file.distribution_path) for file in files}
        places = {}
        for file in files:
            target = self._folder / file.distribution_path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = Path(file.path).read_text(encoding="utf-8")
            target.write_text(moved(source, file.distribution_path, modules), encoding="utf-8")
            places[str(target)] = file.distribution_path
        return places


def moved_entry_points(points: Mapping[str, str]) -> dict[str, str]:
    """Return entry points that refer to modules below :data:`ROOT`."""
    return {name: f"{ROOT}.{place}" if _is_ours(place) else place for name, place in points.items()}


def module_name(path: str) -> str:
    """Return the name that a module of the wheel has in the repository."""
    name = ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")
    below = name.removeprefix(f"{ROOT}.")
    return below if _is_ours(below) else name


def moved(source: str, path: str, modules: Collection[str]) -> str:
    """Return the source of a module with its imports of our packages moved below :data:`ROOT`.

    Raise NotMovable for an import or a string that cannot be moved. ``modules`` are the names of all our modules.
    """
    tree = ast.parse(source, path)
    lines = source.splitlines(keepends=True)
    for text in _texts(tree):
        found = _REFERENCE.fullmatch(text.value.rstrip("."))
        if "." in text.value and found is not None and found[0] in modules:
            raise NotMovable(f"{path}:{text.lineno}: the string {text.value!r} names a module: use __name__")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and (begin := _begin(node, path)) is not None:
            old, new = begin
            # columns of the syntax tree are counted in bytes
            line = lines[node.lineno - 1].encode()
            head, tail = line[: node.col_offset], line[node.col_offset :].decode()
            if not tail.startswith(old):
                raise NotMovable(f"{path}:{node.lineno}: an import in an unusual form")
            lines[node.lineno - 1] = head.decode() + new + tail.removeprefix(old)
    return "".join(lines)


def _begin(node: ast.Import | ast.ImportFrom, path: str) -> tuple[str, str] | None:
    """Return how the statement begins and how the moved one does. None if it imports none of our packages."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not _is_ours(node.module or ""):
            return None
        return f"from {node.module}", f"from {ROOT}.{node.module}"
    if not any(_is_ours(each.name) for each in node.names):
        return None
    first = node.names[0]
    if len(node.names) > 1 or ("." in first.name and first.asname is None):
        raise NotMovable(
            f"{path}:{node.lineno}: write: from {first.name.rpartition('.')[0] or 'X'} import ..."
        )
    if "." in first.name:
        return f"import {first.name}", f"import {ROOT}.{first.name}"
    return f"import {first.name}", f"from {ROOT} import {first.name}"


def _texts(tree: ast.Module) -> Iterator[ast.Constant]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_ours(name: str) -> bool:
    return re.split(r"[.:]", name)[0] in OURS
