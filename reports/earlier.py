"""What an earlier report of the same place still has: results and pages of trials that have not changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from harness.storage import kept
from harness.storage.parquet_writer import Part
from harness.system.own_packages import PREFIX
from reports.place import Place

KEPT = "kept.json"
#: Columns that are not Spark's.
ADDED = ("resent_parts",)


class Digests(NamedTuple):
    """The digests of everything that the page of a trial shows: of the trial, and of others with the same faults."""

    trial: str
    siblings: str


class About(msgspec.Struct, frozen=True):
    """Trial -> the digest of its files, and page -> the digests of everything that it shows."""

    trials: dict[str, str]
    pages: dict[str, Digests]


class Earlier:
    """The report that is at a place before a new one replaces it. Without a valid one, it has nothing."""

    def __init__(self, place: Place) -> None:
        self._kept = kept.read(place.final / KEPT, place.final, code(), About)

    def page(self, path: str, shown: Digests) -> tuple[bytes | None, bool]:
        """Return the page of a trial if it shows the same of it, and whether its links to other trials are the same."""
        known = self._kept.about.pages.get(path) if self._kept else None
        if self._kept is None or known is None or known.trial != shown.trial:
            return None, False
        return self._kept.data(path), known.siblings == shown.siblings

    def parts(self, parts: Iterable[Part]) -> list[Part]:
        """Return the parts whose trials were all analysed, as they are now."""
        known = self._kept.about.trials if self._kept else {}
        return [
            part for part in parts if all(known.get(trial) == digest for trial, digest in part.trials.items())
        ]

    def tables(self, names: Iterable[str], parts: Iterable[Part]) -> dict[str, pa.Table] | None:
        """Return the rows of these parts' trials in some result tables, or None if one of them is missing."""
        trials = pa.array([trial for part in parts for trial in part.trials], pa.string())
        found = {}
        for name in names:
            data = self._kept.data(f"tables/{name}.parquet") if self._kept else None
            if data is None:
                return None
            table = pq.read_table(BytesIO(data))
            told = table.drop_columns([each for each in ADDED if each in table.column_names])
            found[name] = told.filter(pc.is_in(told["trial"], trials))
        return found


def write(place: Place, parts: Iterable[Part], pages: Mapping[str, Digests], tables: Iterable[str]) -> None:
    """Sign what a new report may keep of this one. Raises OSError."""
    trials = {trial: digest for part in parts for trial, digest in part.trials.items()}
    names = [*pages, *(f"tables/{name}.parquet" for name in tables)]
    kept.write(place.building / KEPT, place.building, code(), About(trials, dict(pages)), names)


def code() -> str:
    """Return a digest of the code that determines results and pages."""
    return kept.code_digest(f"{PREFIX}harness", f"{PREFIX}reports")
