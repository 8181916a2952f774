"""The codes of the program's own errors, with the templates of their sentences, from the places that raise them."""

from __future__ import annotations

from harness.cli.error_codes import above, class_bases, raised, sources
from harness.model import errors
from pages.markdown import NOTE, code, table

ABOUT = """\
An error has a code, parameters, and a sentence that is made from them. The command line prints
`error[CODE]: SENTENCE`, the harness-error of a trial has the code in `results.jsonl`, and in Python an error has the
attributes `code` and `params`. A script or a test should look at these. The code of an error stays the same; its
wording may change at any time. `kafka-trial explain CODE` shows where an error comes from.
"""

INNER = """\
These are the reasons within other errors: what is wrong with bytes, with a file, or with what a client wrote.
"""

CLIENT = """\
The reference client raises these errors, or reports them for a record, as Kafka's Java client does with its exceptions.
"""


def pages() -> dict[str, str]:
    """Return the text of ``messages.md``, by that name."""
    modules = sources()
    bases = class_bases(modules.values())
    of_users, of_client, inner = {}, {}, {}
    for call, kind in raised(modules).items():
        is_client = call.place.startswith("clients/reference/")
        if not call.place.startswith(("suites/properties/", "clients/mutants/")):
            is_users = "KafkaTrialError" in above(kind, bases)
            place = of_client if is_client else of_users if is_users else inner
            place.setdefault((call.code, _exit_code(above(kind, bases))), set()).add(call.template)
    parts = ["# Error messages\n", NOTE, ABOUT, _table(of_users, with_exit_code=True)]
    parts += ["## Reasons\n", INNER, _table(inner), "## The reference client\n", CLIENT, _table(of_client)]
    return {"messages.md": "\n".join(parts)}


def _exit_code(names: set[str]) -> int:
    for kind in (errors.UsageError, errors.NothingSelected):
        if kind.__name__ in names:
            return kind.exit_code
    return errors.KafkaTrialError.exit_code


def _table(found: dict[tuple[str, int], set[str]], *, with_exit_code: bool = False) -> str:
    rows = []
    for (name, exit_code), templates in sorted(found.items()):
        told = "<br>".join(code(" ".join(each.split())) for each in sorted(templates))
        rows.append((code(name), exit_code, told) if with_exit_code else (code(name), told))
    return table(("code", "exit code", "sentence") if with_exit_code else ("code", "sentence"), rows)
