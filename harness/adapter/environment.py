"""The environment of a client under test: the variables that programs need here, and no others.

A harness often runs where the environment contains secrets (CI, a developer's shell). A client gets the variables of
this table, those that its adapter sets, and those that the user names with ``--client-env``.
``docs/reference/limits.md`` shows the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from harness.model.errors import UsageError, unknown
from harness.text import redaction

#: Name -> purpose. A name that ends with ``*`` matches all names with that prefix.
ALLOWED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HOME": "the folder for caches",
        "JAVA_HOME": "the location of Java",
        "LANG": "the language of messages",
        "LANGUAGE": "the same",
        "LC_*": "the same",
        "LD_LIBRARY_PATH": "folders of shared libraries",
        "LOGNAME": "the name of the user",
        "PATH": "folders of programs",
        "SHELL": "some programs start one",
        "TEMP": "the folder for temporary files",
        "TMP": "the same",
        "TMPDIR": "the same",
        "TZ": "the time zone of messages",
        "USER": "the name of the user",
        "XDG_CACHE_HOME": "the folder for caches",
    }
)


def allowed(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the part of ``environ`` that every client gets."""
    return {name: value for name, value in environ.items() if _is_allowed(name)}


def named(names: Iterable[str], environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that the user passes to clients in addition. Raises UsageError if one is not set."""
    wanted = tuple(names)
    for name in wanted:
        if "=" in name:
            raise UsageError(
                "client-env-with-value",
                "--client-env takes a name without a value, but {name!r} has one",
                hint=f"set it before the command, and name it: {name.partition('=')[0]}=... kafka-trial ...",
                name=name.partition("=")[0],
            )
        if name not in environ:
            raise unknown("environment variable", name, environ)
    redaction.remember(environ[name] for name in wanted if redaction.is_secret(name))
    return {name: environ[name] for name in wanted}


def _is_allowed(name: str) -> bool:
    return name in ALLOWED or any(
        name.startswith(pattern.removesuffix("*")) for pattern in ALLOWED if pattern.endswith("*")
    )
