"""Check that no test matches an error or an output by its sentence: tests look for codes and data.

A finding is a literal with two words in a row, in the ``match=`` of an error that has a code, or looked for with ``in``
in an error, a message or what a command printed. A file may have as many findings as the baseline allows, and exactly
as many. Problems go to stderr, and the exit code is 1. ``--update`` lowers the baseline.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from wording import baseline
from wording.rules import Hit

from harness.cli.error_codes import above, class_bases, sources

ROOT = Path(__file__).resolve().parent.parent
BASELINE = "scripts/sentences_baseline.toml"
HEADER = """\
# How many sentences the tests of each file may still match. `python scripts/sentences.py --update` lowers the numbers.

"""
#: Errors whose code is that of their reason.
WITH_REASON = "NoOpinion"
#: Names of what is printed or said. A call of ``str`` counts as well.
SAID = {
    "err",
    "message",
    "messages",
    "out",
    "output",
    "reason",
    "said",
    "sentence",
    "stderr",
    "stdout",
    "told",
}
WORDS = re.compile(r"(?<![\w.`'/-])[A-Za-z]?[a-z]+ [a-z]+(?![\w.`'/-])")


def coded_errors() -> set[str]:
    """Return the names of the classes whose errors have codes."""
    bases = class_bases(sources().values())
    return {name for name in bases if above(name, bases) & {"Coded", WITH_REASON}}


def findings(text: str, errors: set[str]) -> list[Hit]:
    """Return each sentence that a test matches."""
    found = []
    for node in ast.walk(ast.parse(text)):
        for matched in _matched(node, errors):
            if words := WORDS.search(matched):
                found.append(Hit(node.lineno, words[0], "its code or its data"))
    return sorted(found, key=lambda hit: hit.line)


def of_tests(root: Path) -> dict[str, list[Hit]]:
    """Return the findings of each test file that has any."""
    errors = coded_errors()
    files = {str(path.relative_to(root)): path.read_text() for path in sorted((root / "tests").rglob("*.py"))}
    return {name: hits for name, text in files.items() if (hits := findings(text, errors))}


def _matched(node: ast.AST, errors: set[str]) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(attr="raises"), args=[kind, *_], keywords=keywords):
            if {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)} & errors:
                for keyword in keywords:
                    if keyword.arg == "match":
                        yield _literal(keyword.value)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[said]) if _is_said(said):
            yield _literal(left)


def _is_said(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SAID
        case ast.Call(func=ast.Name(id="str")):
            return True
        case ast.Call(func=ast.Attribute(attr="replace" | "strip" | "lower", value=value)):
            return _is_said(value)
        case ast.Subscript(value=ast.Call(func=ast.Name(id=name))):
            return name in SAID
        case _:
            return False


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def main(argv: list[str], root: Path = ROOT) -> int:
    """Do what the options say and return the exit code."""
    options = argparse.ArgumentParser(description="Check that no test matches a sentence.")
    options.add_argument(
        "--update", action="store_true", help="lower the baseline to the findings that are left"
    )
    found, path = of_tests(root), root / BASELINE
    allowed = baseline.read(path.read_text()) if path.exists() else None
    if options.parse_args(argv).update:
        path.write_text(baseline.written(allowed := baseline.lowered(allowed, found), HEADER))
    problems = baseline.problems(allowed or {}, found, "scripts/sentences.py")
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
