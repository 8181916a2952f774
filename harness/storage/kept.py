"""Results that are kept from one report to the next, and the proof that this user made them.

A run's folder may come from anywhere, and kept results are not computed again. They are used only if the list of their
files has a signature by a secret key of this user, and if each file still has the content that the list names. The key
is made at the first use, in the cache folder. Where there is none, everything is computed again.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from secrets import token_bytes
from typing import Any, Generic, TypeVar

import msgspec

from harness import files
from harness.limits.memory import PLAN_BYTES, Crowded, Room
from harness.model.errors import KafkaTrialError
from harness.provision.caches import cache_dir

T = TypeVar("T")

KEY = "report.key"
#: What determines results and pages.
SOURCES = (".py", ".html", ".css", ".js")
_KEY_BYTES = 32


class _Listed(msgspec.Struct, frozen=True):
    """What is signed: the version of the code, what the caller says about the files, and their digests."""

    code: str
    about: msgspec.Raw
    digests: dict[str, str]


class _Signed(msgspec.Struct, frozen=True):
    signature: str
    listed: msgspec.Raw


@dataclass(frozen=True)
class Kept(Generic[T]):
    """Signed files in ``folder``, and what was said about them."""

    folder: Path
    root: Path
    about: T
    digests: dict[str, str]

    def data(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it is not what was signed."""
        with suppress(OSError):
            data = files.read_stored(self.folder / name, self.root)
            if name in self.digests and hmac.compare_digest(digest(data), self.digests[name]):
                return data
        return None

    def copy(self, names: Iterable[str], target: Path) -> bool:
        """Copy files to ``target``. False if one of them is not what was signed; then none is left there."""
        found = {name: self.data(name) for name in names}
        if any(data is None for data in found.values()):
            return False
        for name, data in found.items():
            with files.create(target / name) as file:
                file.write(data or b"")
        return True


def read(path: Path, root: Path, code: str, kind: type[T]) -> Kept[T] | None:
    """Return what :func:`write` wrote at ``path``, or None if this user and this code wrote no such list."""
    with suppress(OSError, Crowded, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        data = files.read_stored(path, root)
        Room(PLAN_BYTES).take(data)
        signed = msgspec.json.decode(data, type=_Signed)
        key = _key()
        if key is None or not hmac.compare_digest(_signature(key, bytes(signed.listed)), signed.signature):
            return None
        listed = msgspec.json.decode(signed.listed, type=_Listed)
        if listed.code == code:
            return Kept(path.parent, root, msgspec.json.decode(listed.about, type=kind), listed.digests)
    return None


def write(path: Path, root: Path, code: str, about: Any, names: Iterable[str]) -> None:
    """Sign the files ``names`` beside ``path``, with what there is to say ``about`` them. Raises OSError."""
    key = _key()
    if key is None:
        return
    digests = {name: digest(files.read_stored(path.parent / name, root)) for name in names}
    listed = msgspec.json.encode(_Listed(code, msgspec.Raw(msgspec.json.encode(about)), digests))
    with files.create(path) as file:
        file.write(msgspec.json.encode(_Signed(_signature(key, listed), msgspec.Raw(listed))))


def digest(data: bytes) -> str:
    """Return the digest of some content."""
    return blake2b(data, digest_size=16).hexdigest()


def folder_digest(folder: Path, root: Path) -> str:
    """Return the digest of the regular files directly in a folder, their names included."""
    hashed = blake2b(digest_size=16)
    try:
        for name in files.names(folder, root):
            content = blake2b()
            for piece in files.stored_pieces(folder / name, root):
                content.update(piece)
            hashed.update(f"{name!r} {content.hexdigest()}\n".encode())
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return hashed.hexdigest()


@cache
def code_digest(*packages: str) -> str:
    """Return the digest of the source files of these packages or modules, given by their full names.

    Raises ValueError for a name without source files: results of another version would be taken for its results.
    """
    hashed = blake2b(digest_size=16)
    for name in packages:
        found = dict(_sources(name))
        if not found:
            raise ValueError(f"{name} has no source files")
        for place in sorted(found):
            hashed.update(f"{name} {place}\n".encode() + found[place].read_bytes())
    return hashed.hexdigest()


def _sources(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the source files of a package or module, each with its place in it."""
    spec = find_spec(name)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from (
            (str(path.relative_to(folder)), path)
            for path in Path(folder).rglob("*")
            if path.suffix in SOURCES
        )
    if spec and spec.origin and not spec.submodule_search_locations:
        yield "", Path(spec.origin)


def _signature(key: bytes, data: bytes) -> str:
    return hmac.new(key, data, "blake2b").hexdigest()


def _key() -> bytes | None:
    """Return this user's key, which is made if there is none. None if it cannot be stored."""
    with suppress(OSError, KafkaTrialError):
        path = cache_dir() / KEY
        if not files.present(path):
            files.write_whole(path, token_bytes(_KEY_BYTES))
        key = files.read_stored(path)
        return key if len(key) == _KEY_BYTES else None
    return None
