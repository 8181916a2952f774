"""Store structs as files of a run: as one JSON document, or as compressed JSON lines.

The memory that they will take is limited before they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness import files
from harness.files import zstd
from harness.limits.memory import Crowded, Room
from harness.model.errors import UsageError
from harness.model.rows import SCHEMA_VERSION

T = TypeVar("T")


def write_json(path: Path, row: Any, root: Path | None = None) -> None:
    """Write one struct as one JSON document."""
    files.write_whole(path, msgspec.json.format(msgspec.json.encode(row), indent=1) + b"\n", root)


def write_rows(path: Path, rows: Iterable[Any], root: Path | None = None) -> None:
    """Write structs as compressed JSON lines, under the name that :func:`harness.files.zstd.at_rest` gives."""
    write_lines(path, encoded(rows), root)


def encoded(rows: Iterable[Any]) -> bytes:
    return msgspec.json.Encoder().encode_lines(list(rows))


def write_lines(path: Path, data: bytes, root: Path | None) -> None:
    files.write_whole(zstd.at_rest(path), zstd.packed(data), root)


class _Versioned(msgspec.Struct):
    schema_version: int = SCHEMA_VERSION


def _read(path: Path, kind: Any, root: Path | None, room: Room, *, lines: bool) -> Any:
    decoder = msgspec.json.Decoder(kind)
    try:
        data = files.read_stored(path, root, room.left_bytes)
        if path.suffix == zstd.SUFFIX:
            data = zstd.unpacked(data, room.left_bytes)
        room.take(data)
        if (
            not lines
            and (found := msgspec.json.decode(data, type=_Versioned).schema_version) != SCHEMA_VERSION
        ):
            raise UsageError(
                "schema-version",
                "{path} is of schema version {found}; this kafka-trial reads version {schema_version}",
                path=path,
                found=found,
                schema_version=SCHEMA_VERSION,
            )
        return decoder.decode_lines(data) if lines else decoder.decode(data)
    except FileNotFoundError:
        raise UsageError(
            "run-folder-incomplete",
            "{path} does not exist: {parent} is not a complete folder of a run",
            path=path,
            parent=path.parent,
        ) from None
    except OSError as error:
        raise UsageError(
            "cannot-read", "cannot read {path}: {why}", path=path, why=error.strerror or error
        ) from error
    except (Crowded, zstd.Damaged, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("cannot-read", "cannot read {path}: {why}", path=path, why=error) from error


def read_json(path: Path, kind: type[T], root: Path | None = None, room: Room | None = None) -> T:
    """Read one struct from one JSON document. Raises UsageError with the file and the position if it does not fit.

    ``room`` is the memory available for this and other files. The default is the limit for the evidence of a trial.
    """
    row: T = _read(path, kind, root, room or Room(), lines=False)
    return row


def read_rows(path: Path, kind: Any, root: Path | None = None, room: Room | None = None) -> tuple[Any, ...]:
    """Read structs from JSON lines, compressed or (in older runs) plain. ``room`` is as in :func:`read_json`."""
    return tuple(_read(at_rest(path, root), kind, root, room or Room(), lines=True))


def at_rest(path: Path, root: Path | None) -> Path:
    """Return the path of the rows of ``path``: the compressed file if it exists, else the plain one."""
    compressed = zstd.at_rest(path)
    with looking(path.parent):
        return compressed if files.present(compressed, root) else path


@contextmanager
def looking(folder: Path) -> Iterator[None]:
    """Turn an OSError on access to a run's folder into UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            "cannot-read", "cannot read {path}: {why}", path=folder, why=error.strerror or error
        ) from error
