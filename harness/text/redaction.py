"""Redact secrets in everything that is stored and displayed: the table of what looks like a credential.

A value is a secret because of its name (``sasl.jaas.config``, ``--token``, ``DB_PASSWORD=``) or its content (a private
key, the user of a URL). A name such as ``-p`` is too unspecific for the table. Secrets that the user typed are also
known by value (:func:`remember`), and redacted wherever they occur. Values from a client's output are never remembered,
because a client could call any word a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

V = TypeVar("V", str, "str | int | bool")

MARK: Final = "[redacted]"

#: A name that contains one of these, with or without separators, names a secret,
_SECRET: Final = (
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "api.key",
    "private.key",
    "access.key",
    "jaas.config",
    "user.info",
)
#: unless its last word shows that the value only describes a secret, or that it is an error and not a setting.
_ABOUT: Final = re.compile(
    "algorithm|claim|class|count|enabled|endpoint|file|format|id|interval|iterations|length|limit|location|"
    "mechanism|ms|name|path|prompt|provider|scope|size|stdin|ttl|type|uri|url|"
    "allowed|disabled|error|exception|expired|failed|found|invalid|mismatch|missing|required"
)
#: Kafka's own API keys are the number or name of an API. They are in every log.
_API: Final = re.compile(
    r"(?i:\S*\bapi[._-]?keys?) (?:\d{1,3}(?!\w)|[\[({])|\S*\bapi(?:Key|_key) [A-Z_]{5,24}(?!\w)"
)
#: A shorter value would also match in innocent words.
_SHORTEST: Final = 6

_known: tuple[str, ...] = ()

_WORDS: Final = re.compile(r"[._\-\s]+|(?<=[a-z0-9])(?=[A-Z])")
_PARTS: Final = "|".join(name.replace(".", r"[._\-]?") for name in _SECRET)
# Each pattern begins at a word boundary and has a bounded length, so that no text takes long.
_NAME: Final = (
    rf"(?<![\w.\-])(?P<dashes>-{{0,2}})"
    rf"(?P<name>\w[\w.\-]{{0,100}}?(?:{_PARTS})[\w.\-]{{0,100}}|(?:{_PARTS})[\w.\-]{{0,100}})"
)
#: As in ``name=x``, ``"name": x``, ``name: x``, ``name => x``, ``--name x``, ``"--name", "x"``.
_BETWEEN: Final = (
    r"""(?P<between>\\*["']?\s{0,20}={1,3}>?\s{0,20}|\\*["']\s{0,20}[:,]\s{0,20}|\s{0,3}:\s{0,20}|\s{1,20})"""
)
#: In quotation marks, which may be escaped or (where a text was cut) unclosed; else one word.
_VALUE: Final = (
    r"""(?P<value>"(?:[^"\\]|\\.){0,2000}"|'(?:[^'\\]|\\.){0,2000}'|\\+"[^"\\]{0,2000}\\+"|"""
    r"""["'][^\n…]*(?=…|\Z)|[^\s…]+)"""
)
_NAMED: Final = re.compile(_NAME + _BETWEEN + _VALUE, re.IGNORECASE | re.DOTALL)
_USER: Final = re.compile(r"(?<![a-z0-9+.\-])([a-z][a-z0-9+.\-]{0,30}://)([^/\s\"'<>…]+)@", re.IGNORECASE)
_KEY: Final = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM: Final = re.compile(rf"-----BEGIN {_KEY}.*?(?:-----END {_KEY}|\Z)", re.DOTALL)
_BEGIN, _END = (re.compile(f"-----{word} {_KEY}".encode()) for word in ("BEGIN", "END"))
_HEADER: Final = r"""\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?[a-z]{1,20}[^\S\r\n]{1,20}"""
_BEARER: Final = re.compile(
    rf"(\b(?:bearer|basic)\s{{1,20}}(?=[a-z0-9._~+/=\-]{{16}})|{_HEADER})[a-z0-9._~+/=\-]+", re.IGNORECASE
)
_DIGITS: Final = re.compile("[0-9]+")
#: A text without any of these contains nothing to redact.
_HINT: Final = re.compile(rf"{_PARTS}|://|PRIVATE KEY|bearer|basic|authorization", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Return True if the values of a setting, an option or a variable of this name are secrets."""
    words = [word.lower() for word in _WORDS.split(name) if word]
    if not words or _ABOUT.fullmatch(words[-1]) or words[0] in ("no", "without"):
        return False
    return re.search(_PARTS, ".".join(words)) is not None or re.search(_PARTS, name.lower()) is not None


def remember(secrets: Iterable[str]) -> None:
    """Redact these values wherever they occur from now on, in this process."""
    global _known
    _known = _worth_knowing({*secrets, *_known})


def forget() -> None:
    """Forget the remembered values, as in a new process."""
    global _known
    _known = ()


def value(name: str, given: V) -> V:
    """Return the value of a setting that a client reports, redacted for storage and display."""
    left = _stored(name, given, None)
    return text(left) if isinstance(left, str) else left


def settings(given: Mapping[str, V], secrets: set[str] | None = None) -> dict[str, V]:
    """Return settings redacted for storage. The removed values are added to ``secrets``."""
    return {name: _stored(name, each, secrets) for name, each in given.items()}


def argv(words: Sequence[str], secrets: set[str] | None = None) -> tuple[str, ...]:
    """Redact a command line for storage: ``--password=x``, ``--token x``, ``NAME_SECRET=x``, URLs with a user.

    The removed values are added to ``secrets``. Remembered secrets have no influence, so that the same words are always
    stored in the same form.
    """
    found: set[str] = set()
    stored = tuple(_of_words(words, found))
    if secrets is not None:
        secrets |= found
    return tuple(_without(word, _worth_knowing(found)) for word in stored)


def text(said: str) -> str:
    """Return text redacted for storage and display. A second pass changes nothing."""
    return _by_looks(_without(said, _known))


def is_known(said: str) -> bool:
    """Return True if ``said`` contains a remembered secret."""
    return any(secret in said for secret in _known)


def has_hint(said: str) -> bool:
    """Return False if nothing in ``said`` looks like a secret. Remembered secrets have no influence."""
    return _HINT.search(said) is not None


def is_free_of_hints(texts: Iterable[str]) -> bool:
    """Return True only if :func:`text` changes none of the texts. This is fast if they differ in little but numbers."""
    together = "\n".join(texts)
    # No hint has a digit.
    kinds = set(_DIGITS.sub("0", together).split("\n"))
    return not has_hint("\n".join(kinds)) and not is_known(together)


def without_keys(said: bytes) -> bytes:
    """Remove only private keys, whose single lines do not look like secrets. This is fast for any length."""
    kept, at = [], 0
    while begin := _BEGIN.search(said, at):
        end = _END.search(said, begin.end())
        kept += [said[at : begin.start()], MARK.encode()]
        at = end.end() if end else len(said)
    return b"".join([*kept, said[at:]])


def _worth_knowing(secrets: set[str]) -> tuple[str, ...]:
    """Return the secrets that are long enough not to match innocent words, the longest first."""
    long = (each for each in secrets if len(each) >= _SHORTEST and each not in MARK and MARK not in each)
    return tuple(sorted(long, key=lambda each: (-len(each), each)))


def _without(said: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        if secret in said:
            said = said.replace(secret, MARK)
    return said


def _by_looks(said: str, secrets: set[str] | None = None) -> str:
    """Return ``said`` without anything that looks like a secret. The removed values are added to ``secrets``."""
    if not has_hint(said):
        return said

    def without(found: re.Match[str]) -> str:
        return _without_value(found, secrets)

    said = _PEM.sub(MARK, said)
    if secrets is not None:
        secrets.update(user.partition(":")[2] for _, user in _USER.findall(said))
    said = _USER.sub(rf"\1{MARK}@", said)
    said = _BEARER.sub(rf"\1{MARK}", said)
    return _NAMED.sub(without, said)


def _stored(name: str, given: V, secrets: set[str] | None) -> V:
    if isinstance(given, bool) or given == "":
        return given
    if is_secret(name):
        if secrets is not None:
            secrets.add(str(given))
            _by_looks(str(given), secrets)
        return MARK
    return _by_looks(given, secrets) if isinstance(given, str) else given


def _of_words(words: Sequence[str], secrets: set[str]) -> Iterator[str]:
    is_value = False
    for word in words:
        name, equals, given = word.partition("=")
        if is_value and not word.startswith("-"):
            secrets.add(word)
            yield MARK
        elif equals and given and not re.search(r"\s", name) and is_secret(name):
            secrets.add(given)
            _by_looks(given, secrets)
            yield f"{name}={MARK}"
        else:
            yield _by_looks(word, secrets)
        is_value = not equals and word.startswith("-") and not re.search(r"\s", word) and is_secret(word)


def _without_value(found: re.Match[str], secrets: set[str] | None) -> str:
    dashes, name, between, given = found["dashes"], found["name"], found["between"], found["value"]
    opened = re.match(r"\\*[\"']", given)
    quote = opened[0] if opened else ""
    is_quoted = between[0] in "\\\"'"  # refers to the name
    if "=" in between:
        is_pair = True
    elif between == ":":
        # "{Password:x}" is a pair; "token::Kind", "token://" and "token.rs:12" are not.
        is_pair = not re.match(r"[:/]|\d+(\D|$)", given)
    elif ":" in between:
        # "no token: ..." and "the token is" are words; "api.token: x" and "token: 'x'" are not.
        is_pair = is_quoted or bool(quote) or re.search(r"\w[._\-]\w", name) is not None
    else:  # "--token x", and as a list of words, "--token", "x"
        is_pair = bool(dashes) and (bool(quote) if is_quoted else not given.startswith("-"))
    if not is_pair or not is_secret(name) or _API.match(f"{name} {given}"):
        return found[0]
    is_closed = bool(quote) and len(given) > len(quote) and given.endswith(quote)
    if secrets is not None:
        secrets.add(given[len(quote) : -len(quote)] if is_closed else given)
    return f"{dashes}{name}{between}{quote}{MARK}{quote}" if is_closed else f"{dashes}{name}{between}{MARK}"
