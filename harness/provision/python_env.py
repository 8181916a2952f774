"""A separate Python environment for each client, made once by uv and kept in the cache.

An environment is named after its content and its interpreter, so no two sets of requirements share one. Only wheels are
installed, because building a source package runs arbitrary code. With a lock, every file has its committed hash.
Without one, the registry determines the hash. uv's cache is not used, because uv does not check it again.
"""

from __future__ import annotations

import hashlib
import logging
import platform
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import uv

from harness.model.errors import EnvironmentProblem, KafkaTrialError, UsageError
from harness.model.path_names import made_of
from harness.provision.caches import installed
from harness.provision.tools import Ended, attempt, excerpt
from harness.provision.versions import unknown_version

log = logging.getLogger(__name__)

_NOT_THERE = ("there is no version of", "there are no versions of", "was not found in the package registry")
_OFFLINE = "network was disabled"
_NO_WHEEL = re.compile(r"no (usable )?wheels|building source distributions is disabled", re.IGNORECASE)
_WHEELS = ("--only-binary", ":all:")
#: The oldest Python that a lock supports.
OLDEST = "3.11"


def python_env(*requirements: str, lock: Path | None = None) -> Path:
    """Return the interpreter of an environment with only ``requirements`` (``"confluent-kafka==2.16.1"``).

    It is named after the first of them. ``lock`` is a requirements file that pins them and all of their dependencies by
    hash. Raises UsageError if a requirement does not exist, and EnvironmentProblem if it cannot be fetched, has no
    wheel, or cannot be installed here.
    """
    if lock:
        return pinned_env(requirements[0], lock)
    return _env(requirements[0], list(requirements), key=" ".join(sorted(requirements)), is_locked=False)


def pinned_env(name: str, pins: Path) -> Path:
    """Return the interpreter of an environment with the pins of a requirements file. Errors: as python_env."""
    return _env(name, ["--require-hashes", "--no-deps", "-r", str(pins.absolute())], key=pins.read_text())


def write_lock(requirements: Iterable[str], lock: Path) -> None:
    """Resolve requirements into a file that pins all of them by hash, for any machine. It contains no address."""
    with TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.in"
        wanted.write_text("\n".join(requirements))
        words = (
            "--universal",
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
            "--python-version",
            OLDEST,
        )
        ended = _uv("pip", "compile", "--quiet", *_WHEELS, *words, "-o", lock.absolute(), wanted)
    if ended.returncode != 0:
        raise _explained(" ".join(requirements), ended.output)


def find_uv() -> Path:
    """Return the path of the installed uv. Raises EnvironmentProblem if it is missing."""
    try:
        return Path(uv.find_uv_bin())
    except FileNotFoundError as error:
        raise EnvironmentProblem(
            "uv-missing", "uv is not where its package says: {why}", why=error
        ) from error


def _env(name: str, wanted: list[str], *, key: str, is_locked: bool = True) -> Path:
    digest = hashlib.sha256(f"{key} {sys.version} {sys.base_prefix}".encode()).hexdigest()[:12]

    def build(folder: Path) -> None:
        log.info("installing %s", name)
        # relocatable: it is made beside its final place and then renamed
        python = folder / "bin" / "python"
        steps: list[list[str | Path]] = [
            ["venv", "--relocatable", "--allow-existing", "--python", sys.executable, folder],
            ["pip", "install", *_WHEELS, "--compile-bytecode", "--python", python, *wanted],
        ]
        for ended in (_uv(*words) for words in steps):
            if ended.returncode != 0:
                raise _explained(name, ended.output)

    slug = made_of(name.replace("==", "@"))[:60]
    return installed("python", f"{slug}-{digest}", build, is_locked=is_locked) / "bin" / "python"


def _uv(*words: str | Path) -> Ended:
    return attempt([find_uv(), "--no-progress", *words], tool="uv", timeout_s=900)


def _explained(name: str, said: str) -> KafkaTrialError:
    if "Failed to parse" in said:
        return UsageError(
            "requirement-format",
            "{name!r} is not a Python requirement; an example is 'confluent-kafka==2.16.1'",
            name=name,
        )
    if any(words in said for words in _NOT_THERE) and _OFFLINE not in said:
        absent = re.search(r"no versions? of (\S+)", said)
        missing = absent[1] if absent else name
        return unknown_version(missing, *_newest(missing))
    if _NO_WHEEL.search(said) and _OFFLINE not in said:
        here = (
            f"Python {sys.version_info[0]}.{sys.version_info[1]} on {platform.system()} {platform.machine()}"
        )
        return EnvironmentProblem(
            "no-wheel",
            "{name} has no wheel for {here}, and source packages are not built here",
            hint="name another version",
            name=name,
            here=here,
        )
    hint = re.search(r"^hint: (.+)$", said, re.MULTILINE)
    why = excerpt(said, "cause:").removeprefix("cause: ")
    return EnvironmentProblem(
        "install-failed",
        "{name} could not be installed: {why}",
        hint=hint[1] if hint else None,
        name=name,
        why=why,
    )


def _newest(name: str) -> tuple[str, str | None]:
    """Return the package of a requirement, and its newest version if there is one."""
    package = re.match(r"[\w.-]+", name)
    if package is None:
        return name, None
    with TemporaryDirectory() as empty:  # so that uv ignores all environments
        said = _uv("pip", "install", "--dry-run", "--no-deps", "--target", empty, package[0]).output
    newest = re.search(r"^ \+ \S+==(\S+)$", said, re.MULTILINE)
    return package[0], newest[1] if newest else None
