"""Find broken links and repeated headings: in the repository's Markdown, or with ``--site FOLDER`` in the built site.

A link to another host is not followed. On the site, a script, style, font or image from another host is a problem too.
Problems go to stderr, one per line, and the exit code is 1.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
AT_ROOT = ("README.md", "DESIGN.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
#: What a page loads by itself, by tag and attribute. An ``a`` is followed only by a reader.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
#: In styles and scripts: addresses that they may load something from.
LOADS = re.compile(
    r"""url\(\s*["']?https?:|@import\s+["']https?:|["'`]https?://[^"'`\s]+\.m?js["'`]|https://unpkg\.com/"""
)


@dataclass
class Page:
    """A page: its headings, its anchors, its links with their line or tag, and the addresses that it loads."""

    headings: list[str] = field(default_factory=list)
    title: str = ""
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[str, str]] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)


def in_repository(root: Path = ROOT) -> list[str]:
    """Return the problems of the Markdown at the root and below ``docs/``."""
    files = [*(root / name for name in AT_ROOT), *sorted((root / "docs").rglob("*.md"))]
    pages = {path.relative_to(root).as_posix(): markdown(path.read_text()) for path in files}
    problems = [problem for name, page in pages.items() for problem in _repeated(name, page)]
    titles = Counter(page.title for page in pages.values())
    problems += [
        f"{name}: another page has the title {page.title!r} too"
        for name, page in pages.items()
        if titles[page.title] > 1
    ]
    for name, page in pages.items():
        for link, place in page.links:
            if problem := _followed(link, name, pages, lambda path: (root / path).exists()):
                problems.append(f"{name}:{place}: {problem}")
    return problems


def on_site(site: Path) -> list[str]:
    """Return the problems of a built site's pages, styles and scripts."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    pages = {name: html((site / name).read_text()) for name in sorted(files) if name.endswith(".html")}
    problems = [] if pages else [f"{site}: there is no page"]
    for name, page in pages.items():
        problems += [f"{name}: loads {address}" for address in page.loaded if _is_elsewhere(address)]
        for link, place in page.links:
            if problem := _followed(link, name, pages, files.__contains__):
                problems.append(f"{name}: <{place}>: {problem}")
    for name in sorted(files):
        if name.endswith((".css", ".js")):
            problems += [f"{name}: loads {found[0]}" for found in LOADS.finditer((site / name).read_text())]
    return problems


def markdown(text: str) -> Page:
    """Return the headings, anchors and links of a page in Markdown, with GitHub's anchors."""
    page = Page()
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    for number, token in enumerate(tokens):
        if token.type == "inline":
            line = (token.map or [0])[0] + 1
            page.links += [(link, str(line)) for link in _targets(token.children or [])]
        if token.type == "heading_open":
            words = _plain(tokens[number + 1].children or [])
            page.headings.append(words)
            page.title = page.title or words
            page.anchors.add(slug(words))
    return page


def slug(heading: str) -> str:
    """Return the anchor of a heading: GitHub's, and by ``mkdocs.yml`` the site's too."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.page.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.page.links.append((value, tag))
                if (tag, name) in LOADED and not _is_canonical(attrs):
                    self.page.loaded.append(value)


def html(text: str) -> Page:
    """Return the anchors and links of a page in HTML."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


def _is_canonical(attrs: Iterable[tuple[str, str | None]]) -> bool:
    return ("rel", "canonical") in attrs


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def _targets(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        name = {"link_open": "href", "image": "src"}.get(token.type)
        if name:
            yield str(token.attrs[name])
        yield from _targets(token.children or [])


def _plain(tokens: Iterable[Token]) -> str:
    return "".join(_plain(token.children) if token.children else token.content for token in tokens)


def _repeated(name: str, page: Page) -> list[str]:
    return [
        f"{name}: the heading {heading!r} is on the page {count} times"
        for heading, count in Counter(page.headings).items()
        if count > 1
    ]


def _followed(link: str, name: str, pages: Mapping[str, Page], is_there: Callable[[str], bool]) -> str | None:
    """Return the problem of a link on the page ``name``, or None if it leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        known = parts.scheme in ("", "http", "https", "mailto", "data")
        return None if known else f"{link}: expected http, https, mailto or data"
    path = unquote(parts.path)
    folder = "" if path.startswith("/") else posixpath.dirname(name)
    there = posixpath.normpath(posixpath.join(folder, path.lstrip("/"))) if path else name
    if there != "." and not is_there(there):
        return f"{link}: there is no {there}"
    if parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
        return f"{link}: {there} has no heading or anchor {parts.fragment!r}"
    return None


def main(argv: list[str]) -> int:
    """Print the problems and return the exit code: 1 if there is one."""
    problems = on_site(Path(argv[1])) if argv[:1] == ["--site"] else in_repository()
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
