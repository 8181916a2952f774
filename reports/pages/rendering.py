"""Templates, and what every page has in common. Each value is escaped when it is shown."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec
from markupsafe import Markup

from harness.model.rows import SCHEMA_VERSION
from harness.outcomes.words import share, trials
from harness.storage import kept
from harness.text.counting import plural, some
from harness.text.escaping import safe_line
from harness.workloads.produce.tables import MEANING
from reports.pages import outcomes
from reports.pages.file_names import page_of
from reports.pages.payload import packed
from reports.pages.words import BADGES, GUARANTEES
from reports.place import Place

#: What templates have and readers do not see: the room before a tag, and the end tags of cells, rows and sections of
#: tables that HTML does not need, because the next one follows. No text has a ``<``: it is escaped.
_INDENT = re.compile(r"\n\s+<")
_IMPLIED = re.compile(r"</t(?:[dhr]|head|body)>\s*(?=</?t(?:[dhr]|head|body|able)[ >])")


@dataclass(frozen=True)
class Texts:
    """Texts of the registered parts: requirement id -> what it forbids, check and scenario -> summary."""

    requirements: Mapping[str, str]
    checks: Mapping[str, str]
    scenarios: Mapping[str, str]


@dataclass(frozen=True)
class Shared:
    """What all pages of a report share: its place, the run's folder as it is opened and where it really is, texts."""

    place: Place
    folder: Path
    run: str
    texts: Texts

    @cached_property
    def digest(self) -> str:
        """The digest of the texts, of the run's folder in commands, and of the way from a page to the run's files."""
        way = os.path.relpath(self.run, self.place.final)
        return kept.digest(msgspec.json.encode([asdict(self.texts), str(self.folder), way]))


def render(shared: Shared, template: str, path: str, **values: Any) -> Path:
    """Write one page and return its final path. Raises OSError."""
    text = (
        templates()
        .get_template(template)
        .render(
            up="../" * path.count("/"),
            run_folder=url(os.path.relpath(shared.run, (shared.place.final / path).parent)),
            texts=shared.texts,
            schema_version=SCHEMA_VERSION,
            **values,
        )
    )
    return shared.place.write(path, _short(text).encode())


def with_siblings(page: bytes, trial: str, siblings: Sequence[Any]) -> bytes:
    """Return the page of a trial with links to these trials with the same faults, in place of its own."""
    macros: Any = templates().get_template("macros.html").module
    nav = _short(str(macros.siblings_nav(trial, siblings, "../"))).encode()
    before, begin, rest = page.partition(b"<nav>")
    _, end, after = rest.partition(b"</nav>")
    if not (begin and end):
        raise ValueError(f"the page of {trial} has no links to other trials")
    return before + nav + after


def _short(text: str) -> str:
    return _IMPLIED.sub("", _INDENT.sub("\n<", text))


@cache
def templates() -> jinja2.Environment:
    """Return the environment of all templates."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(str(__package__)),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["url"] = url
    environment.filters["shown"] = outcomes.shown
    environment.filters["trials"] = trials
    environment.filters["client_page"] = lambda client: f"clients/{url(page_of(client))}"
    environment.filters["packed"] = lambda document: Markup(packed(document))
    environment.filters["ms"] = _ms
    environment.filters["share"] = share
    environment.filters["thousands"] = lambda number: "–" if number is None else f"{number:,}"
    environment.filters["some"] = lambda number, noun: (
        some(number, noun) if number is not None else f"– {plural(noun)}"
    )
    environment.globals.update(badges=BADGES, guarantees=GUARANTEES, counts_meaning=MEANING)
    return environment


def url(path: str) -> str:
    # As bytes, because a file may have any name; colons are escaped, because a folder may be named javascript:.
    return quote(os.fsencode(path), safe="/@+,=")


def _shown(value: Any) -> Any:
    """Return the text for an expression in a template, before it is escaped."""
    return safe_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _ms(value: float | None) -> str:
    """Return milliseconds with three significant digits."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
