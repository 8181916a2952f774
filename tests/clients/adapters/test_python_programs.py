"""How the programs of kafka-python and aiokafka interpret results and errors, with fake client modules."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import clients.adapters.python_lib
from clients.adapters.aiokafka import CLIENT as AIOKAFKA
from clients.adapters.kafka_python import CLIENT as KAFKA_PYTHON

LIBRARY = Path(clients.adapters.python_lib.__file__).parent
CONFIG = {"acks": "all", "bootstrap.servers": "127.0.0.1:1", "max.block.ms": 50}


class Results:
    """A fake for the object that receives the results of records."""

    def __init__(self):
        self.told = []
        self.news = threading.Event()

    def __getattr__(self, outcome):
        def put(*what):
            self.told.append((outcome, *what))
            self.news.set()

        return put


@pytest.fixture
def program(monkeypatch):
    """Return ``program(kind, module)``, which loads a client's program with a fake client ``module``."""

    def load(kind, **modules):
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name.replace("__", "."), module)
        monkeypatch.syspath_prepend(LIBRARY)
        monkeypatch.syspath_prepend(kind.program.parent)
        forget(kind)
        spec = importlib.util.spec_from_file_location("program", kind.program)
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        forget(kind)
        return loaded

    def forget(kind):
        own = {path.stem for path in kind.program.parent.glob("*.py")}
        for name in [name for name in sys.modules if name in own or name.startswith("verifiable")]:
            monkeypatch.delitem(sys.modules, name)

    return load


def module(name, **members):
    made = ModuleType(name)
    vars(made).update(members)
    return made


class KafkaError(RuntimeError):
    pass


ERRORS = {
    name: type(name, (KafkaError,), {})
    for name in (
        "KafkaConfigurationError",
        "KafkaTimeoutError",
        "MessageSizeTooLargeError",
        "NoBrokersAvailable",
    )
}
#: What the consumers of both clients import.
ASSIGNORS = {
    "range": "RangePartitionAssignor",
    "roundrobin": "RoundRobinPartitionAssignor",
    "sticky__sticky_assignor": "StickyPartitionAssignor",
}


def assignors(client):
    """Return the modules of a client's assignors, as the arguments of ``program``."""
    return {
        f"{client}__coordinator__assignors__{place}": module(place, **{name: type(name, (), {})})
        for place, name in ASSIGNORS.items()
    }


HAS = {f"has_{name}": lambda: True for name in ("gzip", "snappy", "lz4", "zstd")}


class TestKafkaPython:
    """Each creation of a KafkaProducer returns or raises the next of ``makes``."""

    @pytest.fixture
    def made(self, program):
        def make(*makes):
            turn = iter(makes)

            def producer(**arguments):
                made = next(turn)
                if isinstance(made, Exception):
                    raise made
                return made

            producer.DEFAULT_CONFIG = {"acks": 1, "bootstrap_servers": "", "max_block_ms": 60_000}
            errors = module("kafka.errors", KafkaError=KafkaError, **ERRORS)
            codec = module("kafka.codec", **HAS)
            consumer = type("KafkaConsumer", (), {"DEFAULT_CONFIG": {"group_id": None}})
            its = {"KafkaProducer": producer, "KafkaConsumer": consumer, "ConsumerRebalanceListener": object}
            kafka = module("kafka", __version__="3.0.12", codec=codec, errors=errors, **its)
            modules = {"kafka": kafka, "kafka__codec": codec, "kafka__errors": errors, **assignors("kafka")}
            return program(KAFKA_PYTHON, **modules).KafkaPython()

        return make

    @staticmethod
    def result_of(adapter, **config):
        adapter.configure({**CONFIG, **config})
        results = Results()
        adapter.send("topic", "key", "value", None, results)
        return results.told

    @staticmethod
    def future(*, value=None, error=None):
        """Return a completed future, which calls its callbacks at once."""
        return SimpleNamespace(
            add_callback=lambda call: None if error else call(value),
            add_errback=lambda call: call(error) if error else None,
        )

    def test_stored_record_has_partition_and_offset(self, made):
        stored = self.future(value=SimpleNamespace(partition=2, offset=40))
        producer = SimpleNamespace(send=lambda *_, **__: stored)
        assert self.result_of(made(producer)) == [("ok", 2, 40)]

    def test_without_acks_no_offset_is_known(self, made):
        stored = self.future(value=SimpleNamespace(partition=2, offset=0))
        producer = SimpleNamespace(send=lambda *_, **__: stored)
        assert self.result_of(made(producer), acks="0") == [("ok", 2, -1)]

    def test_producer_is_created_once_a_broker_answers(self, made):
        stored = self.future(value=SimpleNamespace(partition=2, offset=40))
        nobody = ERRORS["NoBrokersAvailable"]()
        adapter = made(nobody, nobody, SimpleNamespace(send=lambda *_, **__: stored))
        assert self.result_of(adapter) == [("fail", "NoBrokersAvailable")]
        assert adapter.flush(1) and adapter.close(1)
        results = Results()
        adapter.send("topic", "key", "value", None, results)
        assert results.told == [("ok", 2, 40)]

    @pytest.mark.parametrize(
        "error", [ERRORS["KafkaConfigurationError"]("no"), ValueError("no"), AssertionError("no")]
    )
    def test_invalid_settings_are_refused(self, made, error):
        with pytest.raises(Exception, match="no") as refused:
            made(error).configure(CONFIG)
        assert type(refused.value).__name__ == "ConfigRefused"

    @pytest.mark.parametrize(
        ("error", "outcome"),
        [
            (ERRORS["KafkaTimeoutError"]("Failed to update metadata after 60.0 secs."), "fail"),
            (
                ERRORS["MessageSizeTooLargeError"]("larger than ... your max_request_size configuration"),
                "fail",
            ),
            (AssertionError("Unrecognized partition"), "fail"),
            (ValueError("Unrecognized partition 9"), "fail"),
            (
                ERRORS["KafkaTimeoutError"](),
                "info",
            ),  # a wake-up: the record is in a batch
            (OSError("bad file descriptor"), "info"),
            (KafkaError("something"), "info"),
        ],
        ids=repr,
    )
    def test_outcome_follows_from_the_error_that_send_raises(self, made, error, outcome):
        def send(*_, **__):
            raise error

        assert self.result_of(made(SimpleNamespace(send=send))) == [(outcome, type(error).__name__)]

    @pytest.mark.parametrize(
        ("error", "outcome"),
        [
            (ERRORS["KafkaTimeoutError"]("Expiring 3 record(s)"), "info"),
            (ERRORS["MessageSizeTooLargeError"]("broker's"), "info"),
            (
                ERRORS["MessageSizeTooLargeError"]("larger than ... your max_request_size configuration"),
                "fail",
            ),
        ],
        ids=repr,
    )
    def test_outcome_follows_from_the_error_of_the_future(self, made, error, outcome):
        lost = self.future(error=error)
        producer = SimpleNamespace(send=lambda *_, **__: lost)
        assert self.result_of(made(producer)) == [(outcome, type(error).__name__)]

    def test_incomplete_flush_is_reported(self, made):
        def flush(timeout_s):
            raise ERRORS["KafkaTimeoutError"]("Timeout waiting for future")

        adapter = made(SimpleNamespace(flush=flush))
        adapter.configure(CONFIG)
        assert not adapter.flush(0.2)

    @pytest.mark.parametrize("how", ["hangs", "raises"])
    def test_close_that_misses_its_timeout_is_reported(self, made, how):
        hung = threading.Event()

        def close(timeout):
            if how == "raises":
                raise ERRORS["KafkaTimeoutError"]("Timeout waiting for future")
            hung.wait()

        adapter = made(SimpleNamespace(close=close))
        adapter.configure(CONFIG)
        assert not adapter.close(0.05)
        hung.set()


class TestAiokafka:
    """Each method of ``AIOKafkaProducer`` performs its ``acts``, one per call."""

    @pytest.fixture
    def made(self, program):
        def make(**acts):
            class Producer:
                def __init__(self, **arguments):
                    for error in acts.get("init", ()):
                        raise error

                def __getattr__(self, name):
                    async def act(*_):
                        done = next(turns[name])
                        if isinstance(done, Exception):
                            raise done
                        return await done() if callable(done) else done

                    return act

            turns = {name: iter(told) for name, told in acts.items()}
            errors = module("aiokafka.errors", KafkaError=KafkaError)
            codec = module("aiokafka.codec", **HAS)
            its = {"AIOKafkaProducer": Producer, "__version__": "0.14.0", "codec": codec, "errors": errors}
            its |= {"AIOKafkaConsumer": lambda group_id: None, "ConsumerRebalanceListener": object}
            modules = {"aiokafka": module("aiokafka", **its), "aiokafka__codec": codec}
            return program(AIOKAFKA, **modules, **assignors("aiokafka")).Aiokafka()

        return make

    @staticmethod
    def result_of(adapter):
        results = Results()
        adapter.send("topic", None, "value", None, results)
        assert results.news.wait(10)
        return results.told

    @staticmethod
    def future(*, value=None, error=None):
        async def come():
            future = asyncio.get_running_loop().create_future()
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)
            return future

        return come

    @staticmethod
    async def hang():
        await asyncio.Event().wait()

    @pytest.mark.parametrize(
        ("came", "told"),
        [
            ({"value": SimpleNamespace(partition=2, offset=40)}, ("ok", 2, 40)),
            ({"value": None}, ("ok", -1, -1)),  # acks=0
            ({"error": KafkaError("gone")}, ("info", "KafkaError")),
        ],
    )
    def test_outcome_follows_from_the_error_of_the_future(self, made, came, told):
        adapter = made(start=[None], send=[self.future(**came)])
        adapter.configure(CONFIG)
        assert self.result_of(adapter) == [told]

    def test_record_fails_if_send_raises(self, made):
        adapter = made(start=[None], send=[AssertionError("Unrecognized partition")])
        adapter.configure(CONFIG)
        assert self.result_of(adapter) == [("fail", "AssertionError")]

    def test_producer_starts_once_a_broker_answers(self, made):
        stored = self.future(value=SimpleNamespace(partition=2, offset=40))
        adapter = made(start=[KafkaError("nobody"), KafkaError("nobody"), None], send=[stored])
        adapter.configure(CONFIG)
        assert self.result_of(adapter) == [("fail", "KafkaError")]
        assert self.result_of(adapter) == [("ok", 2, 40)]

    def test_hanging_start_fails_records_and_is_not_repeated(self, made):
        adapter = made(start=[self.hang])
        adapter.configure(CONFIG)
        assert self.result_of(adapter) == [("fail", "TimeoutError")]

    def test_invalid_settings_are_refused(self, made):
        with pytest.raises(Exception, match="acks=1 not supported") as refused:
            made(init=[ValueError("acks=1 not supported")]).configure(CONFIG)
        assert type(refused.value).__name__ == "ConfigRefused"

    @pytest.mark.parametrize(("act", "done"), [(None, True), (hang, False)])
    def test_flush_and_close_report_whether_they_completed(self, made, act, done):
        adapter = made(start=[None], flush=[act], stop=[act])
        adapter.configure(CONFIG)
        assert adapter.flush(10 if done else 0.05) == done
        assert adapter.close(10 if done else 0.05) == done
