"""Credentials are redacted when they are stored or shown, and harmless text is not."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.text import redaction
from harness.text.escaping import WHOLE_CHARS
from harness.text.redaction import MARK

SECRETS = (
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.password",
    "sasl.password",
    "basic.auth.user.info",
    "sasl.oauthbearer.client.credentials.client.secret",
    "delegation.token.secret.key",
    "password.encoder.secret",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "--password",
    "-token",
    "x-api-key",
    "apiKey",
    "sslKeyPassword",
    "PGPASSWORD",
)
INNOCENT = (
    "acks",
    "client.id",
    "max.request.size",
    "sasl.mechanism",
    "sasl.username",
    "security.protocol",
    "key.serializer",
    "ssl.keystore.location",
    "sasl.oauthbearer.token.endpoint.url",
    "delegation.token.expiry.time.ms",
    "password.encoder.iterations",
    "--password-file",
    "--no-password",
    "-p",
    "--topic",
    "partitioner.ignore.keys",
    "AWS_ACCESS_KEY_ID",
)
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
#: A secret that does not look like one.
SECRET = "hunter2"


@pytest.mark.parametrize("name", SECRETS)
def test_secret_is_recognized_by_its_name(name):
    assert redaction.is_secret(name)
    assert redaction.settings({name: SECRET}) == {name: MARK}
    assert redaction.argv([f"{name}={SECRET}"]) == (f"{name}={MARK}",)
    assert SECRET not in redaction.text(f"it is {name}={SECRET}, they say")
    assert SECRET not in redaction.text(f'{{"{name}": "{SECRET} {SECRET}", "acks": "all"}}')
    assert SECRET not in redaction.text(f"{{'{name}': '{SECRET} {SECRET}'}}")


@pytest.mark.parametrize("name", INNOCENT)
def test_harmless_settings_are_kept(name):
    assert not redaction.is_secret(name)
    assert redaction.settings({name: SECRET}) == {name: SECRET}
    assert redaction.argv([f"{name}={SECRET}", name, SECRET]) == (f"{name}={SECRET}", name, SECRET)
    said = f'it is {name}={SECRET}, {{"{name}": "{SECRET}"}} and {name} {SECRET}'
    assert redaction.text(said) == said


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (["./c", "--password", SECRET, "-v"], ("./c", "--password", MARK, "-v")),
        (["./c", "-password", SECRET], ("./c", "-password", MARK)),
        (["./c", "--token", "--verbose"], ("./c", "--token", "--verbose")),
        (["./c", "-X", f"sasl.password={SECRET}"], ("./c", "-X", f"sasl.password={MARK}")),
        (["env", f"DB_SECRET={SECRET}", "./c"], ("env", f"DB_SECRET={MARK}", "./c")),
        (["./c", f"https://u:{SECRET}@h/x"], ("./c", f"https://{MARK}@h/x")),
        (["sh", "-c", f"exec ./c --password {SECRET}"], ("sh", "-c", f"exec ./c --password {MARK}")),
        (["sh", "-c", f"TOKEN={SECRET} exec ./c"], ("sh", "-c", f"TOKEN={MARK}")),
        (["./c", PEM], ("./c", MARK)),
        (["./c", "-p", "9092", "--passive", "x"], ("./c", "-p", "9092", "--passive", "x")),
        (["./c", "--password="], ("./c", "--password=")),
    ],
)
def test_command_line_is_redacted(words, stored):
    assert redaction.argv(words) == stored
    assert redaction.argv(stored) == stored


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"sasl.password: {SECRET}", f"sasl.password: {MARK}"),
        ("it needs a token: see below", "it needs a token: see below"),
        ("the password is wrong", "the password is wrong"),
        ("Authorization: Bearer abcdefghijklmnopqrst", f"Authorization: Bearer {MARK}"),
        ("a basic understanding of bearer bonds", "a basic understanding of bearer bonds"),
        (f"redis://:{SECRET}@h:1", f"redis://{MARK}@h:1"),
        (
            "see https://kafka.apache.org/43/ and me@a.example",
            "see https://kafka.apache.org/43/ and me@a.example",
        ),
        (f"x {PEM} y", f"x {MARK} y"),
        (f"x {PEM[:40]}", f"x {MARK}"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIE", MARK),
        ("Authorization: Basic dTpw", f"Authorization: Basic {MARK}"),
        (f"'authorization': 'Token {SECRET}'", f"'authorization': 'Token {MARK}'"),
        (f"&{{User:u Password:{SECRET} Mechanism:PLAIN}}", f"&{{User:u Password:{MARK} Mechanism:PLAIN}}"),
        (f"{{ username: 'u', password: '{SECRET} x' }}", f"{{ username: 'u', password: '{MARK}' }}"),
        (f'"password" => "{SECRET} x"', f'"password" => "{MARK}"'),
        (rf"{{\"password\": \"{SECRET} x\"}}", rf"{{\"password\": \"{MARK}\"}}"),
        (f"Command '['./c', '--password', '{SECRET} x']'", f"Command '['./c', '--password', '{MARK}']'"),
        (f'["--token","{SECRET}","-v"]', f'["--token","{MARK}","-v"]'),
        (f"--password     {SECRET}", f"--password     {MARK}"),
        (f'a password="{SECRET} x… (9 more characters)', f"a password={MARK}… (9 more characters)"),
        (f"a password='{SECRET} x", f"a password={MARK}"),
        ("error in token::Kind", "error in token::Kind"),
        ("at DelegationTokenCache.java:57)", "at DelegationTokenCache.java:57)"),
        ("credentials.py:12:3: no", "credentials.py:12:3: no"),
        ("common.errors.TokenException: it is not there", "common.errors.TokenException: it is not there"),
        ("DELEGATION_TOKEN_EXPIRED: it is old", "DELEGATION_TOKEN_EXPIRED: it is old"),
        ("['token', 'x']", "['token', 'x']"),
        ("RequestHeader(apiKey=PRODUCE, apiVersion=9)", "RequestHeader(apiKey=PRODUCE, apiVersion=9)"),
        ('{"api_key": 17, "api_version": 1}', '{"api_key": 17, "api_version": 1}'),
        (
            "api_keys=[ApiVersion(api_key=0, min_version=0)]",
            "api_keys=[ApiVersion(api_key=0, min_version=0)]",
        ),
        ("API_KEY=ABCDEFGHIJKLMNOP", f"API_KEY={MARK}"),
        ("api.key=4ABCDEFGHIJKLMNO", f"api.key={MARK}"),
        ("sasl.password=17", f"sasl.password={MARK}"),
        (
            f'login required username="u" password="{SECRET} x";',
            f'login required username="u" password="{MARK}";',
        ),
    ],
)
def test_text_is_redacted(said, shown):
    assert redaction.text(said) == shown
    assert redaction.text(shown) == shown


def test_booleans_and_empty_values_are_not_redacted():
    given = {"use.token": True, "sasl.password": ""}
    assert redaction.settings(given) == given


def secrets_in(*words: str) -> set[str]:
    redaction.argv(words, secrets := set())
    return secrets


def test_typed_secrets_are_redacted_everywhere():
    secrets: set[str] = set()
    redaction.argv(["./c", "--password", SECRET, "--token=ab", "x://u:in-the-url@h"], secrets)
    redaction.remember(secrets)

    assert secrets == {SECRET, "ab", "in-the-url"}
    assert secrets_in("sh", "-c", "exec ./c --password in-a-shell") == {"in-a-shell"}
    assert secrets_in("./c", '{"sasl.password": "in json"}') == {"in json"}
    assert secrets_in('sasl.jaas.config=org.X required password="in jaas";') == {
        'org.X required password="in jaas";',
        "in jaas",
    }
    assert redaction.text(f"logged in with {SECRET}!") == f"logged in with {MARK}!"
    assert redaction.text("a short one says nothing: ab") == "a short one says nothing: ab"


def test_mark_is_not_redacted_again():
    redaction.remember(["redacted", "[redacted]"])
    assert redaction.text(MARK) == MARK


PARTS = st.sampled_from(
    [*"abc =:\"'-\\.{}@/\n,;>…1", "password", "--token ", "://", "[redacted]", "bearer ", "authorization: a "]
)


@example('a://password="…@')
@given(st.lists(PARTS, max_size=60).map("".join))
def test_redaction_is_idempotent(said):
    once = redaction.text(said)
    assert redaction.text(once) == once


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "password",
        "password=",
        'password="',
        "a.",
        "://",
        "x://a",
        "-----BEGIN PRIVATE KEY-----",
        "basic ",
        "-",
        "--token,",
        "'--token',",
        'password="\\',
        "password=\\'\"",
        "…password='",
        "authorization:",
        "authorization: a ",
        f"{'x' * 90}password{'y' * 90} ",
    ],
)
def test_redaction_takes_no_quadratic_time(part):
    """With quadratic time, a text of this length would exceed the time limit of the tests."""
    redaction.text((part * WHOLE_CHARS)[:WHOLE_CHARS])
