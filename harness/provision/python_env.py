"""A Python environment of its own for each client, made by uv once and kept in the cache.

The environment is named after what it holds and the interpreter it stands on, so no two requirements share one.
"""

from __future__ import annotations

import hashlib
import logging
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import uv

from harness.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.provision.caches import cache_dir, installed
from harness.provision.tools import Ended, attempt, excerpt

log = logging.getLogger(__name__)

_NOT_THERE = ("there is no version of", "there are no versions of", "was not found in the package registry")
_OFFLINE = "network was disabled"


def python_env(*requirements: str) -> Path:
    """The interpreter of an environment that holds ``requirements`` (``"confluent-kafka==2.16.1"``) and no more.

    It is named after the first of them. UsageError: no such requirement. EnvironmentProblem: it cannot be fetched, or
    does not install here.
    """
    return _env(requirements[0], list(requirements), key=" ".join(sorted(requirements)))


def pinned_env(name: str, pins: Path) -> Path:
    """The interpreter of an environment that holds what a requirements file pins by hash. Errors: as python_env."""
    return _env(name, ["--require-hashes", "-r", str(pins)], key=pins.read_text())


def find_uv() -> Path:
    """The uv that is installed beside us. EnvironmentProblem: it is not."""
    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise EnvironmentProblem(f"uv is not where its package says: {error}") from error


def _env(name: str, wanted: list[str], *, key: str) -> Path:
    slug = re.sub(r"[^\w.=-]+", "-", name)[:60].strip("-")
    digest = hashlib.sha256(f"{key} {sys.version} {sys.base_prefix}".encode()).hexdigest()[:12]
    place = cache_dir() / "python" / f"{slug}-{digest}"

    def build(folder: Path) -> None:
        log.info("installing %s", name)
        # relocatable: it is made beside its place and then renamed into it
        python = folder / "bin" / "python"
        steps: list[list[str | Path]] = [
            ["venv", "--relocatable", "--allow-existing", "--python", sys.executable, folder],
            ["pip", "install", "--compile-bytecode", "--python", python, *wanted],
        ]
        for ended in (_uv(*words) for words in steps):
            if ended.returncode != 0:
                raise _explained(name, ended.output)

    def is_whole(folder: Path) -> bool:
        return (
            folder / "bin" / "python"
        ).exists()  # false as well where the Python that it stands on is gone

    return installed(place, build, whole=is_whole) / "bin" / "python"


def _uv(*words: str | Path) -> Ended:
    # in a folder of ours: uv would obey the settings of whatever project it is started in
    return attempt([find_uv(), "--no-progress", "--directory", cache_dir(), *words], timeout_s=900)


def _explained(name: str, said: str) -> KafkaTrialError:
    if "Failed to parse" in said:
        return UsageError(f"{name!r} is not a Python requirement; an example is 'confluent-kafka==2.16.1'")
    if any(words in said for words in _NOT_THERE) and _OFFLINE not in said:
        absent = re.search(r"no versions? of (\S+)", said)
        missing = absent[1] if absent else name
        return UsageError(f"{missing} does not exist{_newest(missing)}")
    hint = re.search(r"^hint: (.+)$", said, re.MULTILINE)
    why = excerpt(said, "cause:").removeprefix("cause: ")
    return EnvironmentProblem(f"{name} could not be installed: {why}", hint=hint[1] if hint else None)


def _newest(name: str) -> str:
    """What to say of a package of which the version that was asked for is not there."""
    package = re.match(r"[\w.-]+", name)
    if package is None:
        return ""
    with TemporaryDirectory() as empty:  # so that uv looks at no environment
        said = _uv("pip", "install", "--dry-run", "--no-deps", "--target", empty, package[0]).output
    newest = re.search(r"^ \+ \S+==(\S+)$", said, re.MULTILINE)
    return f"; the newest {package[0]} is {newest[1]}" if newest else ""
