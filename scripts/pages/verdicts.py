"""Verdicts with their exit codes, worst first, as the judge ranks them."""

from __future__ import annotations

from harness.cli.explained import VERDICTS
from harness.model.verdicts import EXIT_CODES, GLYPHS, SEVERITY
from pages.markdown import NOTE, code, table

ABOUT = """\
Each trial has one verdict: the worst result in it. The table lists the worst first.
[How a verdict is made](../explanation/verdicts.md) explains the rules.
"""

STRICT = """\
`--strict` turns `differs` into exit code 1.

`--level must` on `run` and `campaign` leaves differences out. A trial that would be `differs` then has the verdict that
it has without them: `pass`, or `not-exercised` if nothing else was judged. Its reason gives their number.
They stay among the requirements of `verdict.json`, and every output lists them as `differs`. The run stores its level:
`judge` and `replay` use it as well.
"""

#: Exit code -> its meaning. The judge defines the codes of verdicts; the others belong to the command line.
CODES = (
    (0, "Every verdict is allowed."),
    (1, "A confirmed disagreement: a failure that is not in the baseline, or a known failure that passes."),
    (2, "The command line, or a file that is named on it, is not valid."),
    (3, "The harness, the environment or an adapter failed. It outranks 1."),
    (4, "Inconclusive, not exercised, or nothing was judged. 3 and 1 outrank it."),
    (5, "Nothing was selected."),
    (129, "Ended by SIGHUP, such as a terminal that was closed."),
    (130, "Interrupted (SIGINT, Ctrl-C)."),
    (141, "The reader of stdout closed it."),
    (143, "Terminated (SIGTERM)."),
)


def pages() -> dict[str, str]:
    """Return the text of ``verdicts.md``, by that name."""
    unlisted = set(EXIT_CODES.values()) - {number for number, _ in CODES}
    if unlisted:
        raise ValueError(f"exit codes without an explanation: {unlisted}")
    rows = ((GLYPHS[each][0], code(each.value), VERDICTS[each], EXIT_CODES[each]) for each in SEVERITY)
    parts = ["# Verdicts and exit codes\n", NOTE, "## Verdicts\n", ABOUT]
    parts += [table(("", "verdict", "meaning", "exit code"), rows), STRICT]
    parts += ["## Exit codes\n", table(("code", "meaning"), CODES)]
    return {"verdicts.md": "\n".join(parts)}
