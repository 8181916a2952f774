"""A GitHub Actions workflow as data, and its jobs run on this machine: ``run`` by bash, the known actions imitated.

A server of CI does much more. Only the features that our workflow uses are implemented, and anything else is an error.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

NOT_CANCELLED = "!cancelled()"
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


def loaded(text: str) -> dict[str, Any]:
    """Return a workflow. A key that is written twice is an error, as it is for GitHub."""
    return dict(yaml.load(text, Loader=_Strict))


class _Strict(yaml.SafeLoader):  # type: ignore[misc]
    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise ValueError(f"a key is written twice in {keys}")
        return super().construct_mapping(node, deep)


def instances(job: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the values of the matrix for each job that GitHub makes of this one."""
    matrix: dict[str, list[Any]] = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        yield {f"matrix.{name}": str(value) for name, value in zip(matrix, values, strict=True)}


@dataclass
class Ran:
    """A step that was run: its name, its exit code, and what it printed."""

    name: str
    code: int
    output: str


@dataclass
class Server:
    """Runs jobs in new checkouts of ``project``, with an empty HOME, and keeps their artifacts and summaries."""

    project: Path
    folder: Path
    env: Mapping[str, str]
    cache: Path | None = None
    summary: str = ""
    artifacts: dict[str, Path] = field(default_factory=dict)

    def run(self, job: Mapping[str, Any], values: Mapping[str, str]) -> list[Ran]:
        """Run one instance of a job and return its steps that were run."""
        place = self.folder / f"job-{len(list(self.folder.iterdir()))}"
        home, checkout = place / "home", place / "checkout"
        home.mkdir(parents=True)
        shutil.copytree(self.project, checkout)
        expressions = {"runner.os": "Linux", **values}
        exported = dict(self.env) | {"HOME": str(home), "GITHUB_WORKSPACE": str(checkout)}
        ran: list[Ran] = []
        for step in job["steps"]:
            failed = any(each.code for each in ran)
            if failed and NOT_CANCELLED not in step.get("if", ""):
                continue
            if "github.event_name == 'pull_request'" in step.get("if", ""):
                continue
            if "uses" in step:
                self._use(step, checkout, expressions)
            else:
                ran.append(self._shell(step, checkout, exported, expressions))
        return ran

    def _shell(self, step: Any, checkout: Path, env: dict[str, str], values: Mapping[str, str]) -> Ran:
        files = {name: checkout.parent / name for name in ("GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", filled(step["run"], values)],
            cwd=checkout,
            env=env | {name: str(file) for name, file in files.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in files["GITHUB_ENV"].read_text().splitlines():
            name, _, value = line.partition("=")
            env[name] = value
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        files["GITHUB_STEP_SUMMARY"].write_text("")
        return Ran(step["name"], ended.returncode, ended.stdout)

    def _use(self, step: Any, checkout: Path, values: Mapping[str, str]) -> None:
        action, given = step["uses"].partition("@")[0], step.get("with", {})
        if action == "actions/upload-artifact":
            kept = self.folder / "artifacts" / filled(given["name"], values)
            _keep([checkout / path for path in given["path"].split()], checkout, kept)
            self.artifacts[kept.name] = kept
        elif action == "actions/download-artifact":
            for name, kept in self.artifacts.items():
                if fnmatch(name, given["pattern"]):
                    shutil.copytree(kept, checkout / given["path"] / name)
        elif action == "actions/cache":
            if self.cache is not None:
                (checkout / given["path"]).mkdir()
                (checkout / given["path"] / "kafka-trial").symlink_to(self.cache)
        elif action not in ("actions/checkout", "actions/setup-python", "actions/setup-java"):
            raise ValueError(f"unknown action {action}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with its expressions replaced. Raise KeyError for an unknown one."""
    return _EXPRESSION.sub(lambda found: values[found[1]], text)


def _keep(paths: list[Path], checkout: Path, kept: Path) -> None:
    """Copy what exists. The content of a single folder is kept without the folder, as the action does."""
    if len(paths) == 1:
        checkout = paths[0]
    for path in paths:
        target = kept / path.relative_to(checkout)
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        elif path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
