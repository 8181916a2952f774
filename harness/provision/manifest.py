"""The manifest of an installation: each file with its SHA-256, size and mode, and each link with its target.

The manifest is written beside the installation when that is complete, and compared with it before each use. The list of
files is compared every time. File contents are read again only if a file's stamp (inode, times of change) has changed;
``doctor`` reads all of them. This finds damage: a truncated library, an additional file, a partly copied folder. It
does not protect against a program with the user's own rights, which could also write another manifest.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from harness.model.errors import EnvironmentProblem
from harness.text.sentences import Coded

FIX = "kafka-trial doctor --fix"
_CHUNK_BYTES = 2**20
#: The maximum size of a manifest. The largest one, for a Go with its sources, takes 4 MB.
_LONGEST_BYTES = 2**26


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file (``digest`` is its SHA-256), a folder, or a link (``target``). ``stamp``: inode, mtime and ctime in ns."""

    mode: Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
    size_bytes: int = 0
    digest: str = ""
    target: str = ""
    stamp: tuple[int, int, int] = (0, 0, 0)


class Manifest(msgspec.Struct, frozen=True):
    """The entries below a folder by their path. ``is_locked`` is False if no committed lock defines them."""

    entries: dict[str, Entry]
    is_locked: bool = True


def taken(folder: Path, *, is_locked: bool = True) -> Manifest:
    """Return the manifest of a folder as it is. EnvironmentProblem: an entry is not a file, folder or link."""
    return Manifest({name: _entry(name, path) for name, path in _below(folder)}, is_locked)


def path_of(place: Path) -> Path:
    """Return the path of an installation's manifest."""
    return place.with_name(f"{place.name}.manifest")


def write(place: Path, manifest: Manifest) -> None:
    """Write the manifest beside its installation, as a whole."""
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".manifest-", delete=False) as file:
        file.write(msgspec.json.encode(manifest))
    Path(file.name).rename(path_of(place))


def read(place: Path) -> Manifest:
    """Return the manifest of an installation. Raises EnvironmentProblem if the manifest itself is damaged."""
    try:
        return msgspec.json.decode(_bytes(path_of(place)), type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise EnvironmentProblem(
            "manifest-unreadable",
            "the manifest of {place} cannot be read: {why}",
            hint=FIX,
            place=place,
            why=error,
        ) from error


def verified(place: Path) -> Manifest:
    """Return the manifest of an installation. EnvironmentProblem, with the first difference: they do not match."""
    manifest = read(place)
    if wrong := differences(place, manifest):
        raise EnvironmentProblem(
            "installation-damaged",
            "{place} is damaged: {summary}",
            hint=FIX,
            place=place,
            summary=summary(wrong),
            first=wrong[0],
        )
    return manifest


def summary(wrong: Sequence[Coded]) -> str:
    """Return the first of several differences, and the number of the others."""
    more = f" (and {len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
    return f"{wrong[0]}{more}"


def differences(folder: Path, manifest: Manifest, *, every_byte: bool = False) -> list[Coded]:
    """Describe each entry that is missing, altered or surplus. With ``every_byte``, stamps are not trusted."""
    if folder.is_symlink() or not folder.is_dir():
        return [Coded("place-not-a-folder", "it is not a folder")]
    there = dict(_below(folder))
    wanted = manifest.entries
    wrong = [missing(name) for name in sorted(wanted.keys() - there.keys())]
    for name in sorted(wanted.keys() & there.keys()):
        if difference := _difference(name, there[name], wanted[name], every_byte):
            wrong.append(difference)
    return wrong + [surplus(name) for name in sorted(there.keys() - wanted.keys())]


def missing(name: str) -> Coded:
    """Return the difference that an entry does not exist."""
    return Coded("entry-missing", "{name} is missing", name=name)


def altered(name: str) -> Coded:
    """Return the difference that the content of a file is another one."""
    return Coded("entry-altered", "{name} was altered", name=name)


def surplus(name: str) -> Coded:
    """Return the difference that an entry is not in the manifest."""
    return Coded("entry-surplus", "{name} is surplus", name=name)


def _difference(name: str, path: Path, wanted: Entry, every_byte: bool) -> Coded | None:
    try:
        found = path.lstat()
        if stat.S_IFMT(found.st_mode) != stat.S_IFMT(wanted.mode):
            kind = _kind(found.st_mode)
            return Coded("entry-replaced", "{name} was replaced by a {kind}", name=name, kind=kind)
        if stat.S_ISLNK(found.st_mode):
            same = str(path.readlink()) == wanted.target
            return None if same else Coded("link-changed", "{name} leads elsewhere", name=name)
        if found.st_mode != wanted.mode:
            return Coded(
                "mode-changed",
                "{name} has mode {found:o}, and was written with {wanted:o}",
                name=name,
                found=stat.S_IMODE(found.st_mode),
                wanted=stat.S_IMODE(wanted.mode),
            )
        if stat.S_ISDIR(found.st_mode):
            return None
        if found.st_size != wanted.size_bytes:
            return Coded(
                "size-changed",
                "{name} was altered: it has {found:,} bytes, and had {wanted:,}",
                name=name,
                found=found.st_size,
                wanted=wanted.size_bytes,
            )
        if (every_byte or _stamp(found) != wanted.stamp) and _digest(path) != wanted.digest:
            return altered(name)
    except OSError as error:
        return Coded("entry-unreadable", "{name} cannot be read: {why}", name=name, why=error.strerror)
    return None


def _entry(name: str, path: Path) -> Entry:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return Entry(found.st_mode, target=str(path.readlink()))
    if stat.S_ISDIR(found.st_mode):
        return Entry(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        raise EnvironmentProblem(
            "installation-odd-file",
            "the installation contains a {kind}: {name}",
            kind=_kind(found.st_mode),
            name=name,
        )
    return Entry(found.st_mode, found.st_size, _digest(path), stamp=_stamp(found))


def _below(folder: Path, prefix: str = "") -> Iterator[tuple[str, Path]]:
    """Yield everything below a folder with its relative path. Links are not followed."""
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        # File names are bytes: those that are not text, or could affect a terminal, are shown as escapes
        name = prefix + entry.name.encode(errors="surrogateescape").decode(errors="backslashreplace")
        yield "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name), Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _below(Path(entry.path), f"{name}/")


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _bytes(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        content = file.read(_LONGEST_BYTES + 1)
    if len(content) > _LONGEST_BYTES:
        raise OSError(f"it has more than {_LONGEST_BYTES:,} bytes")
    return content


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "special file")
