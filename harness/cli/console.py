"""Output for people, on stderr: sentences and the matrix. Nothing here makes a decision."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from harness.cli.output import put
from harness.judging.availability import words
from harness.judging.cells import counted
from harness.judging.fingerprint import causes, line, replay
from harness.model.rows import TrialVerdict
from harness.model.spec import TrialSpec
from harness.model.verdicts import GLYPHS, Verdict
from harness.text.counting import some
from harness.text.escaping import for_logs, safe_line
from harness.text.version_order import by_version


class _Stderr:
    """The current stderr, without anything that a CI server would interpret as a command.

    If it cannot be written to (a closed terminal, a pipe without a reader, a full disk), the run continues without it.
    """

    def write(self, text: str) -> int:
        with _unread():
            return int(self._file.write(for_logs(text)))
        return len(text)

    def flush(self) -> None:
        with _unread():
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    @property
    def _file(self) -> Any:
        # While rich draws a table it replaces sys.stderr with a proxy that would write here again.
        return getattr(sys.stderr, "rich_proxied_file", sys.stderr)


@contextmanager
def _unread() -> Iterator[None]:
    """Redirect stderr to /dev/null after an error. Its buffered text would fail again, at the latest at exit."""
    try:
        yield
    except OSError:
        with suppress(OSError, ValueError):
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, sys.stderr.fileno())
            os.close(nobody)


_stderr = cast(IO[str], _Stderr())
console = Console(file=_stderr, highlight=False)
if not console.is_terminal:
    # A log file or a pipe has no width; the default of 80 columns would break names.
    console = Console(file=_stderr, highlight=False, width=200)

#: The maximum length of a name in a table.
CELL_CHARS = 200

#: The columns of a matrix before the clients, if no trial has a configuration.
HEADS = ("scenario", "guarantee")

#: The maximum number of causes on a screen; the run's summary.md has all of them.
MAX_CAUSES = 40


def answer(thing: str | RenderableType) -> None:
    """Print requested output for a person on stdout; everything else here goes to stderr. A string is one line."""
    is_seen = sys.stdout.isatty()
    # Rich's own output to stdout would raise an error that is not handled here.
    page = Console(
        file=StringIO(),
        force_terminal=is_seen or None,
        highlight=False,
        width=None if is_seen else 200,
    )
    with page.capture() as captured:
        page.print(Text(safe_line(thing)) if isinstance(thing, str) else thing, soft_wrap=True)
    put(for_logs(captured.get()).encode())


def say(sentence: str) -> None:
    """Print one line for a person, without wrapping it at the width of the terminal."""
    console.print(Text(safe_line(sentence)), soft_wrap=True)


def cell(text: str) -> Text:
    """Return text for a table cell; rich would interpret a plain string as markup."""
    return Text(safe_line(text, CELL_CHARS))


def shown(verdict: str) -> str:
    """Return a verdict as glyph and word, in rich's markup."""
    glyph, style = GLYPHS[Verdict(verdict)]
    return f"[{style}]{glyph} {verdict}[/]"


def situation(trial: TrialVerdict | TrialSpec) -> str:
    """Return the scenario, the guarantee and the configuration of a trial."""
    return " ".join(filter(None, (trial.scenario, trial.guarantee, trial.variant)))


def matrix(verdicts: Sequence[TrialVerdict]) -> Table:
    """Return a table of situations by client, with the share of its load that succeeded in each cell.

    Several seeds or brokers in a cell are counted; their share is that of the outcome table.
    """
    clients = sorted({verdict.client for verdict in verdicts}, key=by_version)
    # Names with the same beginning must not be cut to the same few letters.
    columns = (Column(_in_two_lines(client), overflow="fold") for client in clients)
    cells: dict[tuple[str, ...], dict[str, list[TrialVerdict]]] = {}
    for each in verdicts:
        here = cells.setdefault((each.scenario, each.guarantee, each.variant), {})
        here.setdefault(each.client, []).append(each)
    heads = ("scenario", "guarantee", "configuration") if any(place[2] for place in cells) else HEADS
    table = Table(*heads, *columns, box=None, pad_edge=False)
    for place in sorted(cells):
        row = (counted(cells[place].get(client, []), shown) for client in clients)
        table.add_row(*map(cell, place[: len(heads)]), *row)
    return table


def _in_two_lines(client: str) -> Text:
    name, at, version = client.partition("@")
    return Text("\n").join([cell(name), cell(at + version)]) if at else cell(name)


def summary(verdicts: Iterable[TrialVerdict], run: Path | None = None) -> None:
    """Print the matrix, then the causes of trials that did not pass.

    If ``run`` is given, each cause has the replay command of its smallest trial.
    """
    verdicts = list(verdicts)
    console.print(matrix(verdicts))
    if any(verdict.availability.offered for verdict in verdicts):
        element, done = words(verdict.scenario for verdict in verdicts)
        console.print(f"all: {counted(verdicts, shown)} of {element}s {done}")
    found = causes(verdicts)
    for cause in found[:MAX_CAUSES]:
        console.print(shown(cause.verdict), end=" ")
        say(line(cause))
        say(f"    smallest: {replay(run, cause.smallest, cause) if run else cause.smallest}")
    if len(found) > MAX_CAUSES:
        say(f"and {some(len(found) - MAX_CAUSES, 'more cause')}")
