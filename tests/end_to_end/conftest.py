"""Fixtures that run the console script in a separate process, as a user does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(sys.executable).with_name("kafka-trial")


class Line:
    """Runs the command in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *argv: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(SCRIPT), *argv],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    def __call__(self, *argv: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        process = self.start(*argv)
        out, err = process.communicate()
        assert "Traceback" not in err, err
        assert code is None or process.returncode == code, f"exit {process.returncode}\n{err}"
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *argv: str, code: int | None = 0) -> Any:
        return json.loads(self(*argv, "--json", code=code).stdout)


@pytest.fixture(scope="session")
def line(tmp_path_factory) -> Line:
    return Line(tmp_path_factory.mktemp("line"))


@pytest.fixture(scope="session")
def matrix(line) -> dict[str, Any]:
    """Return the result of both clients in all eight cells."""
    return line.json("run", "produce/*", "-c", "reference", "-c", "confluent-kafka", "--seed", "7")
