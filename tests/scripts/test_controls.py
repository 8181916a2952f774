"""Each kind of fault has control tests, which are the tests with a mark."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from harness.model.mode import Mode
from harness.plugins import registry

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return scripts/pages/controls.py as a module."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("pages.controls")


def test_every_fault_kind_has_a_control(pages: Any) -> None:
    assert {control.kind for control in pages.controls()} == set(registry.names("faults"))


def test_every_control_is_run(pages: Any) -> None:
    for control in pages.controls():
        assert control.place.name.startswith("test_"), str(control.place)


def test_exactly_the_simulated_kinds_have_twins(pages: Any) -> None:
    simulated = {name for name, kind in registry.table("faults").items() if Mode.SIMULATED in kind.modes}
    assert {kind for kind, _ in pages.twins()} == simulated


WORDS = 'client="a", broker="b", untouched="c"'


@pytest.mark.parametrize(
    "mark",
    [
        'control("refuse", client="a", broker="b")',
        'control("refuse", client="a", broker="b", untouched="")',
        f"control({WORDS})",
        f'control("refuse", "reset", {WORDS})',
        f"control(KIND, {WORDS})",
        'control("refuse", **WORDS)',
    ],
)
def test_incomplete_control_is_refused(pages: Any, tmp_path: Path, mark: str) -> None:
    folder = tmp_path / "tests" / "faults"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(f"@pytest.mark.{mark}\ndef test_it(): ...\n")
    with pytest.raises(ValueError, match=r"test_it\.py::test_it: "):
        pages.controls(folder)


def test_control_is_read_from_its_mark(pages: Any, tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "faults"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text(
        f'@pytest.mark.control("refuse", {WORDS})\n@pytest.mark.twin("reset", "refuse")\nasync def step(): ...\n'
    )
    (folder / "below").mkdir()
    (folder / "below" / "test_it.py").write_text(
        f'@pytest.mark.control("reset", {WORDS})\ndef test_it(): ...\n'
    )
    control, below = pages.controls(folder)
    assert (control.kind, control.client, control.broker, control.untouched) == ("refuse", "a", "b", "c")
    assert control.place.link == "[`test_it.py::step`](../../tests/faults/test_it.py)"
    assert below.place.link == "[`below/test_it.py::test_it`](../../tests/faults/below/test_it.py)"
    assert [kind for kind, _ in pages.twins(folder)] == ["reset", "refuse"]
