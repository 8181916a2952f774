"""The errors for a client that breaks the contract: who, what was expected, what was received.

They quote raw lines and are stored, so nothing that looks like a secret gets into them.
"""

from __future__ import annotations

from pathlib import Path

from harness.adapter.life import Life
from harness.adapter.protocol_rules import RuleBroken
from harness.files import tail
from harness.model.contract import AnyEvent, Fatal
from harness.model.errors import ClientBroken
from harness.text import redaction
from harness.text.escaping import visible

LOG_TAIL_BYTES = 4_096
SHOWN_BYTES = 160


def broken(client: str, code: str, template: str, /, **params: object) -> ClientBroken:
    """Return the error of ``client``, whose sentence ends with that of ``template``."""
    safe = {name: redaction.text(each) if isinstance(each, str) else each for name, each in params.items()}
    return ClientBroken(
        code, f"client {{client}} broke the contract: {template}", hint=None, client=client, **safe
    )


def of_rule(client: str, rule: RuleBroken, number: int, line: bytes) -> ClientBroken:
    """Return the error for a rule that line ``number`` breaks. It has the code of the rule."""
    return broken(
        client,
        rule.code,
        "{rule}; its line {number} is {line}",
        rule=str(rule),
        number=number,
        line=_quoted(line),
    )


def unanswered(client: str, expected: str, timeout_s: float, event: AnyEvent | None) -> ClientBroken:
    """Return the error for a client that did not answer as expected in time."""
    return broken(
        client,
        "answer-missing",
        "expected {expected} within {timeout_s:g} s, {got}",
        expected=expected,
        timeout_s=timeout_s,
        got=got(event),
        event=event.__struct_config__.tag if event else None,
    )


def farewell(client: str, code: int, life: Life, log: Path) -> ClientBroken | None:
    """Return what is wrong with the end of a process that exited with ``code``, or None."""
    ending = f"ended by signal {-code}" if code < 0 else f"exited with {code}"
    if life is not Life.SHUT_DOWN:
        return broken(
            client,
            "shutdown-missing",
            "expected shutdown_complete, it {ending}{said}",
            ending=ending,
            said=_last_words(log),
            exit_code=code,
        )
    if code:
        return broken(
            client,
            "exit-code",
            "expected exit 0 after shutdown_complete, it {ending}",
            ending=ending,
            exit_code=code,
        )
    return None


def other_version(asked: str, version: str) -> ClientBroken:
    """Return the error for a client that is not the version that was asked for."""
    return ClientBroken(
        "client-version-differs",
        "client {asked} says that it is version {version}",
        asked=asked,
        version=version,
    )


def takes_no_command(client: str, timeout_s: float) -> ClientBroken:
    """Return the error for a client that does not read its commands."""
    return ClientBroken(
        "client-takes-no-command",
        "client {client} read no command for {timeout_s:g} s",
        client=client,
        timeout_s=timeout_s,
    )


def got(event: AnyEvent | None) -> str:
    """Return what was received, for a sentence."""
    if isinstance(event, Fatal):
        return f"got fatal: {event.error}: {event.message}"
    return "got nothing" if event is None else f"got {event.__struct_config__.tag}"


def _last_words(log: Path) -> str:
    """Return the last line of a client's log, if there is one."""
    lines = tail(log, LOG_TAIL_BYTES).split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"; the last line of {log} is '{visible(last[:SHOWN_BYTES])}'" if last else ""


def _quoted(line: bytes) -> str:
    """Return the beginning of a line, with escapes for bytes that are not text."""
    return f"'{visible(line[:SHOWN_BYTES].decode(errors='backslashreplace').strip())}'"
