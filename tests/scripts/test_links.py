"""Broken links and repeated headings are found in Markdown and on the site, and the repository has none."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TITLES = {"DESIGN": "Design", "CONTRIBUTING": "How", "SECURITY": "Safe", "CHANGELOG": "News"}


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return scripts/links.py as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("links")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose pages have no problems."""
    for name, title in TITLES.items():
        (tmp_path / f"{name}.md").write_text(f"# {title}\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page\n\n## `first/part`, and so on\n")
    return tmp_path


def problems(links: Any, repository: Path, readme: str) -> list[str]:
    (repository / "README.md").write_text(f"# Start\n\n{readme}\n")
    return links.in_repository(repository)


def test_repository_has_no_broken_link(links: Any) -> None:
    assert links.in_repository() == []


@pytest.mark.parametrize(
    "text",
    [
        "[page](docs/page.md)",
        "[part](docs/page.md#firstpart-and-so-on)",
        "[folder](docs/)",
        "[here](#start)",
        "[elsewhere](https://example.org/nothing)",
        "`[code](nowhere.md)`",
        "```\n[code](nowhere.md)\n```",
        "[`code`][page]\n\n[page]: docs/page.md",
    ],
)
def test_valid_link_is_accepted(links: Any, repository: Path, text: str) -> None:
    assert problems(links, repository, text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[page](docs/pag.md)", "README.md:3: docs/pag.md: there is no docs/pag.md"),
        (
            "[part](docs/page.md#second)",
            "README.md:3: docs/page.md#second: docs/page.md has no heading or anchor 'second'",
        ),
        ("[here](#begin)", "README.md:3: #begin: README.md has no heading or anchor 'begin'"),
        ("![image](image.png)", "README.md:3: image.png: there is no image.png"),
        ("| a |\n|---|\n| [page](x.md) |", "README.md:5: x.md: there is no x.md"),
        ("[`x`][x]\n\n[x]: y.md", "README.md:3: y.md: there is no y.md"),
        (
            "[file](ftp://example.org)",
            "README.md:3: ftp://example.org: expected http, https, mailto or data",
        ),
        ("## Twice\n\n### Twice", "README.md: the heading 'Twice' is on the page 2 times"),
    ],
)
def test_broken_link_is_reported(links: Any, repository: Path, text: str, problem: str) -> None:
    assert problems(links, repository, text) == [problem]


def test_repeated_page_title_is_reported(links: Any, repository: Path) -> None:
    (repository / "docs" / "other.md").write_text("# A page\n")
    assert problems(links, repository, "") == [
        "docs/other.md: another page has the title 'A page' too",
        "docs/page.md: another page has the title 'A page' too",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="/b.html">', None),
        ('<a href="https://example.org">', None),
        ('<a href="c.html">', "index.html: <a>: c.html: there is no c.html"),
        (
            '<a href="b.html#gone">',
            "index.html: <a>: b.html#gone: b.html has no heading or anchor 'gone'",
        ),
        ('<script src="https://example.org/x.js">', "index.html: loads https://example.org/x.js"),
        ('<script src="//example.org/x.js">', "index.html: loads //example.org/x.js"),
        ('<link rel="stylesheet" href="https://example.org/x">', "index.html: loads https://example.org/x"),
        ('<link rel="canonical" href="https://example.org/">', None),
        ('<img src="https://example.org/x.png">', "index.html: loads https://example.org/x.png"),
    ],
)
def test_problems_of_a_site_are_reported(links: Any, tmp_path: Path, body: str, problem: str | None) -> None:
    (tmp_path / "index.html").write_text(body)
    (tmp_path / "b.html").write_text('<h2 id="there">')
    assert links.on_site(tmp_path) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.css", "@font-face { src: url(https://example.org/font.woff) }"),
        ("a.css", '@import "https://example.org/x.css"'),
        ("a.js", 'load("https://example.org/x.min.js")'),
        ("a.js", 'load("https://unpkg.com/resize-observer-polyfill")'),
    ],
)
def test_styles_and_scripts_load_nothing_from_other_hosts(
    links: Any, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "index.html").write_text("")
    (tmp_path / name).write_text(text)
    [problem] = links.on_site(tmp_path)
    assert problem.startswith(f"{name}: loads ")


def test_folder_without_a_page_is_not_a_site(links: Any, tmp_path: Path) -> None:
    assert links.on_site(tmp_path)


@pytest.mark.long("builds the site")
def test_site_builds_without_warnings_and_broken_links(links: Any, tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    made = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert links.on_site(tmp_path / "site") == []
    assert (tmp_path / "site" / "project" / "DESIGN.html").exists()


def test_titles_in_the_navigation_are_unique() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    titles = re.findall(r"^ *- ([^:\n]+):", nav, re.M)
    assert len(titles) == len(set(titles)) > 40
