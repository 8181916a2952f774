"""What looks like a credential is not stored, not shown, and innocent things are."""

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
#: What nobody would find by its looks.
HUNTER = "hunter2"


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_known_by_its_name(name):
    assert redaction.is_secret(name)
    assert redaction.settings({name: HUNTER}) == {name: MARK}
    assert redaction.argv([f"{name}={HUNTER}"]) == (f"{name}={MARK}",)
    assert HUNTER not in redaction.text(f"it is {name}={HUNTER}, they say")
    assert HUNTER not in redaction.text(f'{{"{name}": "{HUNTER} {HUNTER}", "acks": "all"}}')
    assert HUNTER not in redaction.text(f"{{'{name}': '{HUNTER} {HUNTER}'}}")


@pytest.mark.parametrize("name", INNOCENT)
def test_what_is_none_stays(name):
    assert not redaction.is_secret(name)
    assert redaction.settings({name: HUNTER}) == {name: HUNTER}
    assert redaction.argv([f"{name}={HUNTER}", name, HUNTER]) == (f"{name}={HUNTER}", name, HUNTER)
    said = f'it is {name}={HUNTER}, {{"{name}": "{HUNTER}"}} and {name} {HUNTER}'
    assert redaction.text(said) == said


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (["./c", "--password", HUNTER, "-v"], ("./c", "--password", MARK, "-v")),
        (["./c", "-password", HUNTER], ("./c", "-password", MARK)),
        (["./c", "--token", "--verbose"], ("./c", "--token", "--verbose")),
        (["./c", "-X", f"sasl.password={HUNTER}"], ("./c", "-X", f"sasl.password={MARK}")),
        (["env", f"DB_SECRET={HUNTER}", "./c"], ("env", f"DB_SECRET={MARK}", "./c")),
        (["./c", f"https://u:{HUNTER}@h/x"], ("./c", f"https://{MARK}@h/x")),
        (["sh", "-c", f"exec ./c --password {HUNTER}"], ("sh", "-c", f"exec ./c --password {MARK}")),
        (["sh", "-c", f"TOKEN={HUNTER} exec ./c"], ("sh", "-c", f"TOKEN={MARK}")),
        (["./c", PEM], ("./c", MARK)),
        (["./c", "-p", "9092", "--passive", "x"], ("./c", "-p", "9092", "--passive", "x")),
        (["./c", "--password="], ("./c", "--password=")),
    ],
)
def test_a_command_line_is_stored_without_its_secrets(words, stored):
    assert redaction.argv(words) == stored
    assert redaction.argv(stored) == stored


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"sasl.password: {HUNTER}", f"sasl.password: {MARK}"),
        ("it needs a token: see below", "it needs a token: see below"),
        ("the password is wrong", "the password is wrong"),
        ("Authorization: Bearer abcdefghijklmnopqrst", f"Authorization: Bearer {MARK}"),
        ("a basic understanding of bearer bonds", "a basic understanding of bearer bonds"),
        (f"redis://:{HUNTER}@h:1", f"redis://{MARK}@h:1"),
        (
            "see https://kafka.apache.org/43/ and me@a.example",
            "see https://kafka.apache.org/43/ and me@a.example",
        ),
        (f"x {PEM} y", f"x {MARK} y"),
        (f"x {PEM[:40]}", f"x {MARK}"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIE", MARK),
        ("Authorization: Basic dTpw", f"Authorization: Basic {MARK}"),
        (f"'authorization': 'Token {HUNTER}'", f"'authorization': 'Token {MARK}'"),
        (f"&{{User:u Password:{HUNTER} Mechanism:PLAIN}}", f"&{{User:u Password:{MARK} Mechanism:PLAIN}}"),
        (f"{{ username: 'u', password: '{HUNTER} x' }}", f"{{ username: 'u', password: '{MARK}' }}"),
        (f'"password" => "{HUNTER} x"', f'"password" => "{MARK}"'),
        (rf"{{\"password\": \"{HUNTER} x\"}}", rf"{{\"password\": \"{MARK}\"}}"),
        (f"Command '['./c', '--password', '{HUNTER} x']'", f"Command '['./c', '--password', '{MARK}']'"),
        (f'["--token","{HUNTER}","-v"]', f'["--token","{MARK}","-v"]'),
        (f"--password     {HUNTER}", f"--password     {MARK}"),
        (f'a password="{HUNTER} x… (9 more characters)', f"a password={MARK}… (9 more characters)"),
        (f"a password='{HUNTER} x", f"a password={MARK}"),
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
            f'login required username="u" password="{HUNTER} x";',
            f'login required username="u" password="{MARK}";',
        ),
    ],
)
def test_text_is_shown_without_its_secrets(said, shown):
    assert redaction.text(said) == shown
    assert redaction.text(shown) == shown


def test_switches_and_nothing_are_no_secrets():
    given = {"use.token": True, "sasl.password": ""}
    assert redaction.settings(given) == given


def secrets_in(*words: str) -> set[str]:
    redaction.argv(words, secrets := set())
    return secrets


def test_what_the_user_typed_is_redacted_wherever_it_turns_up():
    secrets: set[str] = set()
    redaction.argv(["./c", "--password", HUNTER, "--token=ab", "x://u:in-the-url@h"], secrets)
    redaction.remember(secrets)

    assert secrets == {HUNTER, "ab", "in-the-url"}
    assert secrets_in("sh", "-c", "exec ./c --password in-a-shell") == {"in-a-shell"}
    assert secrets_in("./c", '{"sasl.password": "in json"}') == {"in json"}
    assert secrets_in('sasl.jaas.config=org.X required password="in jaas";') == {
        'org.X required password="in jaas";',
        "in jaas",
    }
    assert redaction.text(f"logged in with {HUNTER}!") == f"logged in with {MARK}!"
    assert redaction.text("a short one says nothing: ab") == "a short one says nothing: ab"


def test_a_part_of_the_mark_is_no_secret():
    redaction.remember(["redacted", "[redacted]"])
    assert redaction.text(MARK) == MARK


PARTS = st.sampled_from(
    [*"abc =:\"'-\\.{}@/\n,;>…1", "password", "--token ", "://", "[redacted]", "bearer ", "authorization: a "]
)


@example('a://password="…@')
@given(st.lists(PARTS, max_size=60).map("".join))
def test_the_same_again_changes_nothing(said):
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
def test_no_text_keeps_the_harness_busy(part):
    """What takes more than a moment for so many characters, squared, never ends."""
    redaction.text((part * WHOLE_CHARS)[:WHOLE_CHARS])
