"""Programs that attack whoever runs them as clients: ``python hostile.py NAME TOKEN``. Standard library only.

Each keeps the contract up to one moment of its life, and then does one thing. It talks to no broker unless that is the
attack. Loops end by themselves after a while, should nobody end them, and TOKEN stays on each command line.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

MIB = 2**20
ENOUGH_S = 300
ATTACKS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {}
#: What stderr says when the attack begins.
BEGINS = b"it begins\n"
FEATURES = ["producer", "idempotence"]

seq = 0


def at(moment: str) -> Callable[[Callable[[dict[str, Any]], object]], Callable[[dict[str, Any]], object]]:
    """The function is the attack of its name; it gets the command of that moment, and the settings."""

    def register(attack: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
        ATTACKS[attack.__name__] = (moment, attack)
        return attack

    return register


def out(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def say(name: str, **fields: Any) -> None:
    global seq
    event = {"name": name, "seq": seq, "mono_ns": time.monotonic_ns(), "wall_ns": time.time_ns(), **fields}
    seq += 1
    out(json.dumps(event).encode() + b"\n")


def for_a_while() -> Any:
    until = time.monotonic() + ENOUGH_S
    while time.monotonic() < until:
        yield


def trace() -> Path:
    return Path(os.environ["KAFKA_TRIAL_TRACE"])


# What it says.


@at("produce")
def floods_lines(_: Any) -> None:
    line = json.dumps({"name": "more"}).encode() + b"\n"
    for _ in for_a_while():
        out(line * 1_000)


@at("produce")
def floods_stderr(_: Any) -> None:
    for _ in for_a_while():
        os.write(2, b"x" * MIB)


@at("produce")
def never_ends_its_line(_: Any) -> None:
    for _ in for_a_while():
        out(b"x" * MIB)


@at("produce")
def nests_deep(_: Any) -> None:
    out(b'{"name": "x", "seq": 0, "more": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")


@at("produce")
def names_many_events(_: Any) -> None:
    for n in range(5_000):
        out(json.dumps({"name": f"event-{n}"}).encode() + b"\n")


@at("produce")
def names_long_events(_: Any) -> None:
    for n in range(50):
        out(json.dumps({"name": f"{n}" + "x" * 7 * MIB}).encode() + b"\n")


@at("produce")
def speaks_latin_1(_: Any) -> None:
    out(b'{"name": "fatal", "seq": 2, "error": "caf\xe9"}\n')


@at("produce")
def speaks_half_a_surrogate(_: Any) -> None:
    say("fatal", error="half \ud800 of it", message="")


@at("produce")
def says_thirty_megabytes(_: Any) -> None:
    say("fatal", error="Long", message="m" * 30 * MIB)


@at("produce")
def says_seven_megabytes(_: Any) -> None:
    say("fatal", error="Long", message="m" * 7 * MIB)


@at("configure")
def refuses_at_length(_: Any) -> None:
    say("fatal", error="ConfigRefused", message="r" * 7 * MIB)


@at("produce")
def speaks_to_the_terminal(_: Any) -> None:
    say("fatal", error="\x1b]0;owned\x07", message="\x1b[2J\x1b]52;c;cm0gLXJm\x07\n::error file=a::b\n[/red]")


@at("startup")
def features_without_end(_: Any) -> None:
    startup(features=["f"] * 100_000)


@at("configure")
def applies_without_end(command: Any) -> None:
    applied = {name: [name, value] for name, value in command["config"].items()}
    say("configured", id=command["id"], applied=applied, not_set={str(n): "" for n in range(100_000)})


@at("produce")
def offsets_beyond_int64(command: Any) -> None:
    results(command, offset=2**63)


@at("produce")
def offsets_beyond_any(command: Any) -> None:
    results(command, offset=10**400)


@at("produce")
def partitions_beyond_int64(command: Any) -> None:
    results(command, partition=2**64)


@at("produce")
def columns_without_end(command: Any) -> None:
    now = time.monotonic_ns()
    columns = {"outcome": ["ok"] * 100_000, "error": [None] * 100_000}
    say(
        "op_complete",
        op="send",
        id=command["id"],
        **columns,
        invoke_ns=[now],
        complete_ns=[now],
        records=[0],
        partition=[0],
        offset=[0],
    )


@at("produce")
def errors_at_length(command: Any) -> None:
    results(command, outcome="info", error="e" * 100_000)


@at("startup")
def is_somebody_else(_: Any) -> None:
    startup(client="java", client_version="4.3.1")


# What it leaves.


@at("produce")
def traces_into_a_pipe(_: Any) -> None:
    os.mkfifo(trace())


@at("produce")
def pipes_its_log(_: Any) -> None:
    """In the place of the log whose last line the harness quotes, then the end that makes it look."""
    log = trace().parent.parent / "client.log"
    log.rename(log.with_name("moved"))
    os.mkfifo(log)
    os._exit(3)


@at("produce")
def traces_through_a_link(_: Any) -> None:
    trace().symlink_to("/etc/passwd")


@at("produce")
def traces_into_a_folder(_: Any) -> None:
    trace().mkdir()


@at("produce")
def traces_a_hole(_: Any) -> None:
    with trace().open("wb") as file:
        file.truncate(200 * MIB)


@at("produce")
def traces_nests(_: Any) -> None:
    trace().write_bytes(b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n")


@at("produce")
def traces_a_little_deep(_: Any) -> None:
    trace().write_bytes(b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}\n")


@at("produce")
def traces_no_text(_: Any) -> None:
    trace().write_bytes(b'{"a": "\xff\xfe"}\n')


@at("produce")
def traces_at_length(_: Any) -> None:
    trace().write_bytes(json.dumps({"a": "x" * 100_000, "n": 2**400}).encode() + b"\n")


@at("produce")
def fills_the_disk(_: Any) -> None:
    with (trace().parent / "large").open("wb") as file:
        for _ in for_a_while():
            file.write(b"x" * MIB)


@at("produce")
def plants_links(_: Any) -> None:
    """In the place of everything that the harness is about to write in the trial's folder."""
    folder = trace().parent.parent
    rows = (f"{name}.jsonl{end}" for name in ("history", "frames", "log") for end in ("", ".zst"))
    for name in (*rows, "trial.json", "verdict.json", "traceback.txt"):
        for planted in (folder / name, folder / f".{name}.partial"):
            if not planted.exists():
                planted.symlink_to(Path(os.environ["HOME"]) / f"taken-{name}")


@at("produce")
def removes_its_folder(_: Any) -> None:
    subprocess.run(["rm", "-rf", str(trace().parent.parent)], check=False)


# What it does.


@at("produce")
def sleeps(_: Any) -> None:
    time.sleep(ENOUGH_S)


@at("produce")
def stops_itself(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@at("startup")
def ignores_signals(_: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    startup()


@at("produce")
def leaves_a_daemon(_: Any) -> None:
    """Two forks, a session of its own, no environment, no open file: nothing of it leads back here."""
    code = (
        "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(300)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, *sys.argv[2:]]
    subprocess.run(argv, env={}, check=True, close_fds=True)


@at("produce")
def forks_on_and_on(_: Any) -> None:
    """Eight chains, of which each link forks the next one and ends; bounded, whoever does not end them."""
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
            for _ in range(500):
                time.sleep(0.01)
                if os.fork() != 0:
                    os._exit(0)
            os._exit(0)


@at("produce")
def doubles(_: Any) -> None:
    """256 processes in eight steps; the first one ends, the others stay."""
    first = os.getpid()
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
    if os.getpid() == first:
        os._exit(0)
    time.sleep(ENOUGH_S)


@at("produce")
def kills_everybody(_: Any) -> None:
    """All that it can name, and itself; only in a namespace of its own, for this may be somebody's desktop."""
    if os.getppid() == 1:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


@at("produce")
def kills_its_keeper(_: Any) -> None:
    os.kill(os.getppid(), signal.SIGKILL)


@at("produce")
def stops_its_keeper(_: Any) -> None:
    os.kill(os.getppid(), signal.SIGSTOP)


@at("produce")
def dies_of_a_signal(_: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@at("produce")
def closes_its_ends(_: Any) -> None:
    os.close(0)
    os.close(1)
    time.sleep(ENOUGH_S)


@at("produce")
def shows_its_environment(command: Any) -> None:
    (trace()).write_text(json.dumps({"environment": dict(os.environ)}) + "\n")
    results(command)


@at("produce")
def renames_itself(_: Any) -> None:
    """To another's name in the process table, and goes on in a child."""
    ctypes.CDLL(None).prctl(15, b"kafka-trial", 0, 0, 0)
    if os.fork():
        os._exit(0)
    time.sleep(ENOUGH_S)


# What it sends.


def broker(command: dict[str, Any]) -> tuple[str, int]:
    host, _, port = command["config"]["bootstrap.servers"].partition(",")[0].rpartition(":")
    return host, int(port)


@at("configure")
def announces_large_frames(command: Any) -> None:
    configured(command)
    held = [socket.create_connection(broker(command)) for _ in range(8)]
    for connection in held:
        connection.sendall((32 * MIB).to_bytes(4, "big"))
    time.sleep(ENOUGH_S)


@at("configure")
def opens_connections(command: Any) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    configured(command)
    held = []
    for _ in range(3_000):
        try:
            held.append(socket.create_connection(broker(command)))
        except OSError:
            break
    time.sleep(ENOUGH_S)


@at("configure")
def goes_around(command: Any) -> None:
    """To the broker itself, behind proxy and witness, and breaks off before anybody asks who came."""
    host, port = broker(command)
    with socket.create_connection((host, port + 2)):
        out(b"garbage\n")


@at("configure")
def goes_around_as_the_witness(command: Any) -> None:
    """From the port of one of its connections, and of another address, for ports are all that is compared."""
    configured(command)
    host, port = broker(command)
    held = socket.create_connection((host, port))
    for _ in for_a_while():
        rows = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [int(at[-4:], 16) for at, to, state in rows if state == "01" and int(to[-4:], 16) == port + 2]
        if ports:
            break
    around = socket.create_connection((host, port + 2), source_address=("127.0.0.2", ports[0]))
    around.close()
    held.close()


@at("close")
def leaves_requests(command: Any) -> None:
    """As many as it may have at a time, each for records that never come: until then the broker looks at no end."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    topic = command["config"]["topic"].encode()
    fetch = b"\0\1\0\4\0\0\0\7\xff\xff" + struct.pack(">iiiib", -1, 120_000, 1, MIB, 0)
    fetch += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iiqi", 1, 0, 0, MIB)
    held = [socket.create_connection(broker(command)) for _ in range(999)]
    for connection in held:
        connection.sendall(len(fetch).to_bytes(4, "big") + fetch)
    answer({**command, "cmd": "close"})


@at("configure")
def asks_for_millions_of_topics(command: Any) -> None:
    """Metadata 1 for as many empty names as fit."""
    configured(command)
    count = 4_000_000
    body = b"\0\3\0\1\0\0\0\7\xff\xff" + count.to_bytes(4, "big") + b"\0\0" * count
    for _ in range(3):
        with socket.create_connection(broker(command)) as connection:
            connection.sendall(len(body).to_bytes(4, "big") + body)
            connection.recv(MIB)
    time.sleep(ENOUGH_S)


@at("configure")
def asks_without_end(command: Any) -> None:
    """ApiVersions 0, as fast as they are taken."""
    configured(command)
    request = b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff"
    with socket.create_connection(broker(command)) as connection:
        for _ in for_a_while():
            connection.sendall(request * 1_000)
            connection.recv(4 * MIB)


@at("configure")
def speaks_http(command: Any) -> None:
    configured(command)
    with socket.create_connection(broker(command)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000)
        connection.recv(1)
    time.sleep(ENOUGH_S)


# The polite part.


def startup(**instead: Any) -> None:
    told = {"client": "hostile", "client_version": "1", "language": "python", "features": FEATURES}
    say("startup_complete", **{**told, "contract_version": 2, **instead})


def configured(command: dict[str, Any]) -> None:
    applied = {name: [name, value] for name, value in command["config"].items()}
    say("configured", id=command["id"], applied=applied, not_set={})


def results(command: dict[str, Any], **instead: Any) -> None:
    now, count = time.monotonic_ns(), len(command["values"])
    columns = {"outcome": "info", "error": None, "partition": -1, "offset": -1, **instead}
    say("op_invoke", op="send", id=command["id"], first=command["first"], count=count)
    say(
        "op_complete",
        op="send",
        id=command["id"],
        invoke_ns=[now] * count,
        complete_ns=[now] * count,
        records=list(range(command["first"], command["first"] + count)),
        **{name: [value] * count for name, value in columns.items()},
    )


def answer(command: dict[str, Any]) -> None:
    match command["cmd"]:
        case "configure":
            configured(command)
        case "produce":
            results(command)
        case "flush" | "close":
            now = time.monotonic_ns()
            say("op_invoke", op=command["cmd"], id=command["id"])
            row = {"outcome": ["ok"], "error": [None], "invoke_ns": [now], "complete_ns": [now]}
            say("op_complete", op=command["cmd"], id=command["id"], **row)
            if command["cmd"] == "close":
                say("shutdown_complete")
                sys.exit()


def main(name: str) -> None:
    moment, attack = ATTACKS[name]
    config: dict[str, Any] = {}
    if moment == "startup":
        attack({})
    else:
        startup()
    for line in sys.stdin:
        command = json.loads(line)
        config |= command.get("config", {}) | {name: command[name] for name in ("topic",) if name in command}
        if command["cmd"] == moment and not command.get("first"):
            before = seq
            os.write(2, BEGINS)
            attack({**command, "config": config})
            if seq != before:
                continue
        answer(command)


if __name__ == "__main__":
    main(sys.argv[1])
