"""Fit the repository's Markdown into the site: hooks that ``mkdocs.yml`` names.

The Markdown is written for the repository, where every link can be followed. On the site, a link to one of the pages at
the root leads to its copy below ``project/``, and a link to a file that is not part of the site becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs"
#: The pages at the root of the repository that are part of the site, and the folder of their copies.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "SECURITY.md")
COPIES = "project"

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1\s*$", re.M | re.S)
#: A bar in code in a table: GitHub needs it escaped, and Python-Markdown shows the escape.
BAR = re.compile(r"`[^`\n]*\\\|[^`\n]*`")
#: A diagram, which only a script of another host could draw. The table below it on the page has the same moves.
DIAGRAM = re.compile(r"^```mermaid\n.*?^```\n", re.M | re.S)
#: From here the theme loads what draws diagrams, and a substitute for browsers of before 2020. Neither is needed.
OTHER_HOST = "https://unpkg.com/"
NOTHING = "data:text/javascript,"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages at the root of the repository."""
    for name in PROJECT:
        files.append(File.generated(config, f"{COPIES}/{name}", content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page as the site needs it."""
    return for_site(markdown, page.file.src_uri)


def on_post_build(config: Any) -> None:
    """Let the theme's script load nothing from another host."""
    folder = Path(config.site_dir) / "assets" / "javascripts"
    for path in folder.glob("*.map"):
        path.unlink()
    for path in folder.glob("*.js"):
        script = re.sub(r"\n//# sourceMappingURL=\S*", "", path.read_text())
        path.write_text(script.replace(OTHER_HOST, NOTHING))


def for_site(markdown: str, page: str) -> str:
    """Return a page's text, which is at ``page`` on the site, without diagrams and with the links of the site.

    Code blocks stay as they are.
    """
    text, done, parts = DIAGRAM.sub("", markdown), 0, []
    for fence in FENCE.finditer(text):
        parts += [_prose(text[done : fence.start()], page), fence.group()]
        done = fence.end()
    return "".join([*parts, _prose(text[done:], page)])


def _prose(text: str, page: str) -> str:
    text = BAR.sub(lambda found: found[0].replace(r"\|", "|"), text)
    return LINK.sub(lambda found: _link(found[1], found[2], page), text)


def _link(words: str, target: str, page: str) -> str:
    if "://" in target or target.startswith(("#", "mailto:")):
        return f"[{words}]({target})"
    path, hash_, anchor = target.partition("#")
    there = _place(path, page)
    if there is None:
        return words
    return f"[{words}]({posixpath.relpath(there, posixpath.dirname(page) or '.')}{hash_}{anchor})"


def _place(path: str, page: str) -> str | None:
    """Return where the path of a link on ``page`` leads on the site, or None if that is not part of the site."""
    name = page.removeprefix(f"{COPIES}/")
    folder = "" if name in PROJECT else posixpath.dirname(f"{DOCS}/{page}")
    meant = posixpath.normpath(posixpath.join(folder, path))
    if meant in PROJECT:
        return f"{COPIES}/{meant}"
    if meant in ("README.md", DOCS):
        return "README.md"
    if not meant.startswith(f"{DOCS}/"):
        return None
    below = meant.removeprefix(f"{DOCS}/")
    return f"{below}/README.md" if (ROOT / meant).is_dir() else below
