"""Fixtures that run the console script in a separate process, as a user does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

from harness.provision.python_env import find_uv

ROOT = Path(__file__).parents[2]
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


class Installed:
    """An environment with the wheel and no extras, and a user's folder beside it."""

    def __init__(self, folder: Path) -> None:
        [self.wheel] = WheelBuilder(str(ROOT)).build(directory=str(folder / "dist"), versions=["standard"])
        self.bin = folder / "env" / "bin"
        self.folder = folder / "user"
        self.folder.mkdir()
        self.must(str(find_uv()), "venv", "--python", sys.executable, str(folder / "env"))
        lock = str(ROOT / "requirements.lock")
        self.must(
            str(find_uv()),
            "pip",
            "install",
            "--python",
            str(self.bin / "python"),
            "--constraint",
            lock,
            self.wheel,
        )

    def run(self, *argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the user's folder, or in ``cwd``."""
        words = [shutil.which(argv[0], path=str(self.bin)) or argv[0], *argv[1:]]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        ended = subprocess.run(
            words, cwd=cwd or self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in ended.stdout + ended.stderr, ended
        return ended

    def must(self, *argv: str) -> str:
        """Its standard output. It must exit with 0."""
        ended = self.run(*argv)
        assert ended.returncode == 0, ended
        return ended.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return the wheel's environment, the same for all tests of a process."""
    return Installed(tmp_path_factory.mktemp("wheel"))
