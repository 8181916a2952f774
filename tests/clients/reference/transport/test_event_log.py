"""What the client logs about connections, requests and callbacks: Java's information at Java's levels."""

from __future__ import annotations

import logging
import socket

import pytest

from clients.reference.errors import SendError
from clients.reference.network.disconnect_reasons import LocalEnd
from clients.reference.ports import ChannelState
from clients.reference.telemetry.trace import ConnectAttempt, ConnectionEnded, Rebootstrapped, RequestLost
from clients.reference.transport.event_log import EventLog

WAIT_S = 20
ENDS = {
    **dict.fromkeys(["READY", "FAILED_SEND"], logging.INFO),
    **dict.fromkeys((end.value for end in LocalEnd), logging.INFO),
    **dict.fromkeys(["NOT_CONNECTED", "AUTHENTICATE", "INVALID_RECEIVE"], logging.WARNING),
    "AUTHENTICATION_FAILED": logging.ERROR,
}


def lines(caplog, *events):
    log = EventLog("c", logging.getLogger("kafka-trial.reference"))
    with caplog.at_level(logging.DEBUG, logger="kafka-trial.reference"):
        log(events)
        assert caplog.records == []
        log.write()
        log.write()
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_every_end_of_a_connection_has_a_level():
    assert set(ENDS) == {state.value for state in ChannelState} | {end.value for end in LocalEnd}


@pytest.mark.parametrize(("state", "level"), ENDS.items())
@pytest.mark.parametrize("node", [1, -1])
def test_end_of_a_connection_is_logged_with_its_reason(caplog, state, level, node):
    """A bootstrap server that is lost is at least a warning."""
    attempt = ConnectAttempt(at_ms=0, node=node, host="b", address="10.0.0.1:9092", setup_timeout_ms=1)
    ended = ConnectionEnded(at_ms=1, node=node, state=state, detail="because")
    [(logged, said)] = lines(caplog, attempt, ended)
    assert logged == (level if node > 0 else max(level, logging.WARNING))
    assert all(part in said for part in ("10.0.0.1:9092", state, "because", str(node)))


def test_lost_requests_and_rebootstraps_are_logged(caplog):
    lost = RequestLost(at_ms=1, node=1, api="Produce", correlation_id=7, timed_out=True)
    again = Rebootstrapped(at_ms=1, reason="no metadata for 5 ms")
    told = lines(caplog, lost, again)
    assert [level for level, _ in told] == [logging.INFO, logging.INFO]
    assert "Produce" in told[0][1] and "7" in told[0][1] and "no metadata for 5 ms" in told[1][1]


def test_refused_connection_is_logged_by_the_producer(caplog, broker, producer):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with producer(bootstrap_servers=f"127.0.0.1:{port}", max_block_ms=50) as p, pytest.raises(SendError):
        p.send("t", b"v").result(WAIT_S)
    assert any(f"127.0.0.1:{port}" in line and "NOT_CONNECTED" in line for line in caplog.messages)


def test_exception_of_a_callback_is_logged_with_its_traceback(caplog, producer):
    """PRD-SND-13."""

    def callback(metadata, error):
        raise RuntimeError("mine")

    with producer() as p:
        p.send("t", b"v", callback=callback).result(WAIT_S)
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info and str(record.exc_info[1]) == "mine"
