"""What is written: templates with the names filled in, and the contract library; only where nothing is yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

import clients.adapters
from clients.skeletons.languages import Language
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.verdicts import Guarantee
from harness.planning.plan import CODECS
from harness.workloads.produce.profile import producer_config

ADAPTERS: Final = Path(clients.adapters.__file__).parent
TEMPLATES: Final = Path(__file__).parent / "templates"
SUFFIX: Final = ".template"

#: What a trial gives beside its profile, and what stands there.
_OF_THE_TRIAL: Final = {"bootstrap.servers": "one or more, with commas between", "client.id": "a text"}


def adapter_files(language: Language, name: str) -> dict[str, bytes]:
    """A skeleton: path in its folder -> content."""
    library = ADAPTERS / language.library
    found = {
        f"{language.place}/{path.relative_to(library)}": path.read_bytes()
        for pattern in language.sources
        for path in sorted(library.glob(pattern))
    }
    words = {
        "name": name,
        "program": language.program,
        "place": language.place,
        "build_file": language.build_file,
        "needs": language.needs,
        "build": language.build,
        "command": language.command,
        "settings": _settings(),
    }
    own = TEMPLATES / language.name
    for path in (*sorted(own.rglob(f"*{SUFFIX}")), TEMPLATES / f"README.md{SUFFIX}"):
        place = path.relative_to(own if path.is_relative_to(own) else TEMPLATES)
        # a `${...}` that is none of ours belongs to the file
        text = Template(path.read_text()).safe_substitute(words)
        found[str(place).removesuffix(SUFFIX)] = text.encode()
    return found


def template(name: str) -> bytes:
    """A file that is written as it is."""
    return (TEMPLATES / f"{name}{SUFFIX}").read_bytes()


def write_new(files: Mapping[Path, bytes]) -> None:
    """Write all of them, or none. UsageError: one is there already. EnvironmentProblem: they cannot be written."""
    done: list[Path] = []
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                done.append(path)
                file.write(content)
        except OSError as error:
            for written in done:
                written.unlink()
            if isinstance(error, FileExistsError) and path not in done:
                raise UsageError(
                    "file-exists",
                    "{path} is there already, and is not written over",
                    path=error.filename,
                ) from None
            raise EnvironmentProblem(
                "cannot-write", "{path} cannot be written: {why}", path=path, why=error.strerror or error
            ) from error


def must_be_new(folder: Path) -> None:
    """UsageError for a folder in which something is, or what is no folder. EnvironmentProblem: it cannot be read."""
    try:
        if folder.exists() and next(folder.iterdir(), None):
            raise UsageError(
                "folder-not-empty",
                "{path} is not empty",
                hint="--dir DIR names another folder",
                path=folder,
            )
    except NotADirectoryError:
        raise UsageError(
            "not-a-folder", "{path} is no folder", hint="--dir DIR names another", path=folder
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            "cannot-read", "{path} cannot be read: {why}", path=folder, why=error.strerror or error
        ) from error


def _settings() -> str:
    given = producer_config(Guarantee.AT_LEAST_ONCE, CODECS[0], {})
    varied = {"compression.type": ", ".join(CODECS), "enable.idempotence": "false, true"}
    told = {name: str(value) for name, value in given.items()} | _OF_THE_TRIAL | varied
    return "\n".join(f"- `{name}`: {value}" for name, value in sorted(told.items()))
