"""What ``pip install`` gets in a workflow: the published version, a repository, a wheel, or a folder of the project."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from harness.model.errors import UsageError, unknown

NAME = "kafka-trial"
#: From an extra (or none) to the argument of ``pip install``.
Installs = Callable[[str], str]
_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//).+")
_HINT = (
    "give a git URL, a wheel of this project, a folder of it with a pyproject.toml, or kafka-trial==VERSION"
)


def installs(source: str | None, project: Path = Path()) -> Installs:
    """Return what to install from ``source`` (default: the running version from the package index).

    A path is relative to ``project``. Raise UsageError for anything that pip could not install in a checkout.
    """
    if source is None:
        return lambda extra: f"{NAME}{extra}=={version(NAME)}"
    if _SCP.fullmatch(source):
        host, _, below = source.partition(":")
        source = f"git+ssh://{host}/{below}"
    if "://" in source:
        return _from_url(source)
    path = project / source
    if path.exists() or "/" in source or source.endswith(".whl"):
        return _from_path(source, path)
    try:
        wanted = Requirement(source)
    except InvalidRequirement:
        raise _not_usable(source) from None
    if canonicalize_name(wanted.name) != NAME or wanted.extras or wanted.marker:
        raise unknown("source", source, (NAME, *(each.name for each in project.iterdir())))
    return lambda extra: f"{NAME}{extra}{wanted.specifier}"


def _from_url(url: str) -> Installs:
    parts = urlsplit(url)
    if parts.password:
        raise UsageError(
            "install-source-secret",
            "the URL of --install-from contains a password, which the workflow would publish",
            hint="use a deploy key, or a URL without a password",
        )
    if parts.path.endswith(".whl"):
        return lambda extra: f"{NAME}{extra} @ {url}"
    scheme = parts.scheme.removeprefix("git+")
    if scheme not in ("https", "ssh", "http", "git", "file") or not parts.path.strip("/"):
        raise _not_usable(url)
    return lambda extra: f"{NAME}{extra} @ git+{url.removeprefix('git+')}"


def _from_path(source: str, path: Path) -> Installs:
    if Path(source).is_absolute() or ".." in Path(source).parts:
        raise UsageError(
            "install-source-outside",
            "{path} is outside of the project, and a checkout would not have it",
            hint=_HINT,
            path=source,
        )
    if not path.exists():
        raise unknown(
            "path", source, (str(Path(source).with_name(each.name)) for each in _siblings(path.parent))
        )
    if not (path.suffix == ".whl" and path.is_file()) and not (path / "pyproject.toml").is_file():
        raise _not_usable(source)
    return lambda extra: f"./{Path(source)}{extra}"


def _siblings(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _not_usable(source: str) -> UsageError:
    return UsageError(
        "install-source-not-usable",
        "kafka-trial cannot be installed from {source!r}",
        hint=_HINT,
        source=source,
    )
