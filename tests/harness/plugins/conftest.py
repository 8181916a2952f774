"""Third-party distributions that are installed for one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from harness.plugins import registry

#: Takes a distribution's name, its module's text and its entry points (group -> name -> value); returns its folder.
Install = Callable[[str, str, Mapping[str, Mapping[str, str]]], Path]


def write(folder: Path, name: str, module: str, points: Mapping[str, Mapping[str, str]]) -> Path:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(dedent(module))
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = (
        "\n".join((f"[kafka_trial.{group}]", *(f"{key} = {value}" for key, value in named.items())))
        for group, named in points.items()
    )
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution of one module; the registry's caches are cleared before and afterwards."""
    before = set(sys.modules)

    def installed(name: str, module: str, points: Mapping[str, Mapping[str, str]]) -> Path:
        folder = write(tmp_path / name, name, module, points)
        monkeypatch.syspath_prepend(folder)
        registry.forget()
        return folder

    yield installed
    registry.forget()
    for name in {name for name in sys.modules if name.startswith("theirs")} - before:
        del sys.modules[name]
