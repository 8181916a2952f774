"""The contents of a skeleton: templates with the names filled in, and the contract library. Nothing is overwritten."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from clients import adapters
from clients.skeletons.languages import Language
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.verdicts import Guarantee
from harness.workloads.produce.profile import CODECS, producer_config

ADAPTERS: Final = Path(adapters.__file__).parent
TEMPLATES: Final = Path(__file__).parent / "templates"
SUFFIX: Final = ".template"

#: Settings that a trial adds to those of its profile, and a description of each value.
_OF_THE_TRIAL: Final = {"bootstrap.servers": "one or more, separated by commas", "client.id": "a text"}


def adapter_files(language: Language, name: str) -> dict[str, bytes]:
    """Return the files of an adapter skeleton: path in its folder -> content."""
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
        # keep each `${...}` that is not in `words`: it belongs to the file
        text = Template(path.read_text()).safe_substitute(words)
        found[str(place).removesuffix(SUFFIX)] = text.encode()
    return found


def template(name: str) -> bytes:
    """Return a file that is written unchanged."""
    return (TEMPLATES / f"{name}{SUFFIX}").read_bytes()


def write_new(files: Mapping[Path, bytes], hint: str | None = None) -> None:
    """Write all files, or none.

    Raise UsageError, with ``hint``, if one exists already, and EnvironmentProblem if one cannot be written.
    """
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
                    "{path} already exists and is not overwritten",
                    hint=hint,
                    path=error.filename,
                ) from None
            raise EnvironmentProblem(
                "cannot-write", "{path} cannot be written: {why}", path=path, why=error.strerror or error
            ) from error


def must_be_new(folder: Path) -> None:
    """Raise UsageError unless the folder is new or empty. Raise EnvironmentProblem if it cannot be read."""
    try:
        if folder.exists() and next(folder.iterdir(), None):
            raise UsageError(
                "folder-not-empty",
                "{path} is not empty",
                hint="choose another folder with --dir DIR",
                path=folder,
            )
    except NotADirectoryError:
        raise UsageError(
            "not-a-folder",
            "{path} is not a folder",
            hint="choose another one with --dir DIR",
            path=folder,
        ) from None
    except OSError as error:
        raise EnvironmentProblem(
            "cannot-read", "{path} cannot be read: {why}", path=folder, why=error.strerror or error
        ) from error


def _settings() -> str:
    given = producer_config(Guarantee.AT_LEAST_ONCE, {})
    varied = {"compression.type": ", ".join(CODECS), "enable.idempotence": "false, true"}
    told = {name: str(value) for name, value in given.items()} | _OF_THE_TRIAL | varied
    return "\n".join(f"- `{name}`: {value}" for name, value in sorted(told.items()))
