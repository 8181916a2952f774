"""TransactionalManager with made-up responses: its laws for any order of calls and answers, and its table of errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.common.requests import ClientResponse
from clients.reference.errors import IllegalStateError, TransactionError
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.txn_reactions import Reaction, reaction_to
from clients.reference.producer.transactions.txn_request_handlers import EndTxnHandler, Priority
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from harness.wire.makers import make, nested
from harness.wire.messages import message_class
from suites.oracle import MACHINES
from suites.properties.state_transitions import wire

CALLS = ("initialize", "begin", "begin_commit", "begin_abort", "send_offsets", "send")
ANSWERS = ("", "lost", *(BY_NAME[name].name for name in BY_NAME if BY_NAME[name].code))
ERRORS = st.sampled_from(["", "", "", "", "lost", "CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR", *ANSWERS])
STEP = st.sampled_from(CALLS) | st.tuples(ERRORS, st.booleans())
VERSION = {Api.ADD_PARTITIONS_TO_TXN: 3, Api.FIND_COORDINATOR: 3}


class World:
    """A manager, every request that it sent, and what it told."""

    def __init__(self, *, is_v2):
        self.events = []
        self.manager = TransactionalManager(wire.config(transactional_id="tx"), float, self.events.append)
        self.manager.broker_features(1, 2 if is_v2 else 1)
        self.manager.coordinator_is_ready(can_bump=True)
        self.now_ms = 0
        self.results = []
        self.sent = []
        self.epoch = -1
        self.partition = 0
        self.commits_answered = 0

    def call(self, name):
        manager = self.manager
        try:
            if name == "send":
                manager.may_send()
                manager.include(("t", self.partition))
                self.partition = (self.partition + 1) % 3
            elif name == "send_offsets":
                manager.send_offsets({("in", 0): OffsetAndMetadata(1)}, ConsumerGroupMetadata("g"))
            elif name == "begin":
                manager.begin(self.now_ms)
            else:
                self.results.append(getattr(manager, name)(self.now_ms))
        except (IllegalStateError, TransactionError):
            pass

    def answer(self, error, has_incomplete):
        """Send the next request, and answer it: with an error by name, with a lost connection, or as asked."""
        manager = self.manager
        handler = manager.next_request(self.now_ms, has_incomplete=has_incomplete)
        if handler is None:
            return
        self.now_ms = max(self.now_ms + 1, handler.retry_at_ms)
        if handler.coordinator and manager.requests.node_of(handler.coordinator) is None:
            manager.requests.look_up(handler.coordinator, self.now_ms, "it is unknown")
            return
        assert not (isinstance(handler, EndTxnHandler) and has_incomplete)
        assert not manager.transaction.is_fatal
        manager.requests.sent(handler)
        self.sent.append(handler)
        version = VERSION.get(handler.api, 5)
        handler.build(manager)(version if handler.api is not Api.ADD_OFFSETS_TO_TXN else 4)
        if error == "lost":
            response = ClientResponse(None, disconnected=True)
        else:
            response = ClientResponse(self._body(handler, BY_NAME[error].code if error else 0))
        self.commits_answered += not error and isinstance(handler, EndTxnHandler) and handler.committed
        manager.answered(handler, response, self.now_ms)

    def _body(self, handler, code):
        api, version = handler.api, VERSION.get(handler.api, 4)
        message = message_class(api, version, "response")
        if api is Api.ADD_PARTITIONS_TO_TXN:
            topic, part = (
                nested(message, f"AddPartitionsToTxn{name}Result") for name in ("Topic", "Partition")
            )
            parts = [
                make(part, partition_index=index, partition_error_code=ErrorCode(code))
                for _, index in handler.partitions
            ]
            result = make(topic, name="t", results_by_partition=tuple(parts))
            return wire.response(api, version, results_by_topic_v3_and_below=(result,))
        if api is Api.TXN_OFFSET_COMMIT:
            topic, part = (
                nested(message, f"TxnOffsetCommitResponse{name}") for name in ("Topic", "Partition")
            )
            parts = (make(part, partition_index=0, error_code=ErrorCode(code)),)
            return wire.response(api, version, topics=(make(topic, name="in", partitions=parts),))
        values = {"node_id": 1, "host": "b", "port": 1, "error_message": None}
        if api is Api.INIT_PRODUCER_ID and not code:
            self.epoch += 1
            values = {"producer_id": 7, "producer_epoch": self.epoch}
        elif api is Api.INIT_PRODUCER_ID:
            values = {"producer_id": -1, "producer_epoch": -1}
        return wire.response(api, version, error_code=code, **values)


@settings(max_examples=300)
@given(is_v2=st.booleans(), steps=st.lists(STEP, max_size=40))
def test_no_order_of_calls_and_answers_leaves_the_table(is_v2, steps):
    """Nor is a request sent after a fatal error, nor a commit told that EndTxn did not tell."""
    w = World(is_v2=is_v2)
    for step in steps:
        if isinstance(step, str):
            w.call(step)
        else:
            w.answer(*step)
        for result in w.results:
            if result.is_completed:
                result.is_acked = True
    oracle = MACHINES["transaction"]
    moves = [event for event in w.events if getattr(event, "machine", "") == "transaction"]
    assert all(oracle.table.get((move.before, move.cause)) == move.after for move in moves)
    assert not [move for move in moves if "broken" in move.detail]
    told = sum(
        result.operation == "commit_transaction" and result.is_completed and result.error is None
        for result in set(w.results)
    )
    empty = sum(move.cause == "completed" for move in moves) + sum(move.cause == "bump" for move in moves)
    assert told <= empty and w.commits_answered <= empty
    if w.manager.transaction.is_fatal:
        assert w.manager.next_request(w.now_ms, has_incomplete=False) is None
        assert not w.manager.requests.waiting
        assert all(result.is_completed for result in w.results)


@settings(max_examples=100)
@given(is_v2=st.booleans(), steps=st.lists(STEP, max_size=30))
def test_calls_end_once_nothing_fails_any_more(is_v2, steps):
    """Every call has a result after some more answers, whatever was before."""
    w = World(is_v2=is_v2)
    for step in steps:
        w.call(step) if isinstance(step, str) else w.answer(*step)
    for _ in range(30):
        w.answer("", False)
    assert all(result.is_completed for result in w.results)
    assert not w.manager.requests.waiting and w.manager.requests.in_flight is None


def test_one_request_is_out_at_a_time_by_priority():
    """PRD-TXN-12."""
    w = World(is_v2=False)
    w.call("initialize")
    for _ in range(3):
        w.answer("", False)
    w.results[0].take()
    for name in ("begin", "send", "send_offsets", "begin_commit"):
        w.call(name)
    for _ in range(8):
        w.answer("", False)
    order = [handler.priority for handler in w.sent]
    assert order == [
        Priority.FIND_COORDINATOR,
        Priority.INIT_PRODUCER_ID,
        Priority.ADD_PARTITIONS_OR_OFFSETS,
        Priority.ADD_PARTITIONS_OR_OFFSETS,
        Priority.FIND_COORDINATOR,
        Priority.ADD_PARTITIONS_OR_OFFSETS,
        Priority.END_TXN,
    ]


#: Codes of TransactionManager's handlers in Kafka 4.3.1, by what follows.
REACTIONS = {
    Reaction.FENCED: [
        (api, name)
        for api in (
            Api.INIT_PRODUCER_ID,
            Api.ADD_PARTITIONS_TO_TXN,
            Api.ADD_OFFSETS_TO_TXN,
            Api.TXN_OFFSET_COMMIT,
            Api.END_TXN,
        )
        for name in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    ],
    Reaction.FATAL: [
        (Api.FIND_COORDINATOR, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (Api.ADD_PARTITIONS_TO_TXN, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (Api.ADD_PARTITIONS_TO_TXN, "INVALID_TXN_STATE"),
        (Api.ADD_PARTITIONS_TO_TXN, "INVALID_PRODUCER_ID_MAPPING"),
        (Api.ADD_OFFSETS_TO_TXN, "INVALID_TXN_STATE"),
        (Api.TXN_OFFSET_COMMIT, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
        (Api.END_TXN, "INVALID_TXN_STATE"),
        (Api.END_TXN, "INVALID_PRODUCER_ID_MAPPING"),
        (Api.END_TXN, "UNKNOWN_SERVER_ERROR"),
        (Api.INIT_PRODUCER_ID, "INVALID_TRANSACTION_TIMEOUT"),
    ],
    Reaction.REFUSED: [
        (Api.INIT_PRODUCER_ID, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (Api.INIT_PRODUCER_ID, "CLUSTER_AUTHORIZATION_FAILED"),
    ],
    Reaction.RECOVER: [
        (api, "UNKNOWN_PRODUCER_ID")
        for api in (Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN, Api.END_TXN)
    ],
    Reaction.ABORTABLE: [
        (Api.ADD_PARTITIONS_TO_TXN, "TOPIC_AUTHORIZATION_FAILED"),
        (Api.ADD_PARTITIONS_TO_TXN, "OPERATION_NOT_ATTEMPTED"),
        (Api.ADD_PARTITIONS_TO_TXN, "UNKNOWN_SERVER_ERROR"),
        (Api.ADD_OFFSETS_TO_TXN, "GROUP_AUTHORIZATION_FAILED"),
        (Api.FIND_COORDINATOR, "GROUP_AUTHORIZATION_FAILED"),
        (Api.TXN_OFFSET_COMMIT, "ILLEGAL_GENERATION"),
        (Api.TXN_OFFSET_COMMIT, "UNKNOWN_MEMBER_ID"),
        (Api.TXN_OFFSET_COMMIT, "FENCED_INSTANCE_ID"),
        (Api.END_TXN, "TRANSACTION_ABORTABLE"),
    ],
    Reaction.LOOK_UP: [
        (Api.END_TXN, "NOT_COORDINATOR"),
        (Api.INIT_PRODUCER_ID, "COORDINATOR_NOT_AVAILABLE"),
        (Api.TXN_OFFSET_COMMIT, "REQUEST_TIMED_OUT"),
    ],
    Reaction.RETRY: [
        (Api.FIND_COORDINATOR, "COORDINATOR_NOT_AVAILABLE"),
        (Api.ADD_PARTITIONS_TO_TXN, "CONCURRENT_TRANSACTIONS"),
        (Api.END_TXN, "COORDINATOR_LOAD_IN_PROGRESS"),
        (Api.TXN_OFFSET_COMMIT, "UNKNOWN_TOPIC_OR_PARTITION"),
    ],
}


@pytest.mark.parametrize(
    ("reaction", "api", "name"),
    [(reaction, *case) for reaction, cases in REACTIONS.items() for case in cases],
)
def test_each_error_has_the_reaction_of_java(reaction, api, name):
    """PRD-TXN-08, -09, -10, -11."""
    assert reaction_to(api, BY_NAME[name]) is reaction


def test_an_upgrade_of_the_protocol_begins_with_a_new_epoch():
    """KIP-890: the transaction ends as it began, and the next one has an epoch that no earlier request has."""
    w = World(is_v2=False)
    w.call("initialize")
    for _ in range(3):
        w.answer("", False)
    w.results[0].take()
    for name in ("begin", "send"):
        w.call(name)
    w.manager.broker_features(2, 2)
    assert not w.manager.is_v2
    w.call("begin_commit")
    assert w.manager.is_v2
    for _ in range(4):
        w.answer("", False)
    add, end, bump = w.sent[2:]
    assert (add.api, end.api, end.highest) == (Api.ADD_PARTITIONS_TO_TXN, Api.END_TXN, 4)
    assert (bump.api, bump.priority) == (Api.INIT_PRODUCER_ID, Priority.EPOCH_BUMP)
    assert w.results[1].is_completed and w.results[1].error is None
    assert w.manager.producer_id.epoch == 1


def test_older_features_change_nothing():
    w = World(is_v2=True)
    w.manager.broker_features(0, 1)
    w.call("initialize")
    for _ in range(3):
        w.answer("", False)
    assert w.manager.is_v2


def test_an_unknown_producer_is_fatal_without_a_way_to_a_new_epoch():
    """KIP-360: coordinators before Kafka 2.5 cannot raise the epoch."""
    w = World(is_v2=False)
    w.manager.coordinator_is_ready(can_bump=False)
    w.call("initialize")
    for _ in range(3):
        w.answer("", False)
    w.results[0].take()
    for name in ("begin", "send"):
        w.call(name)
    w.answer("UNKNOWN_PRODUCER_ID", False)
    assert w.manager.transaction.is_fatal


def test_a_group_that_may_not_be_looked_up_does_not_hold_up_the_abort():
    w = World(is_v2=True)
    w.call("initialize")
    for _ in range(3):
        w.answer("", False)
    w.results[0].take()
    for name in ("begin", "send_offsets"):
        w.call(name)
    w.answer("", False)  # the group's coordinator is unknown, so its lookup is queued
    w.call("begin_abort")
    w.answer("GROUP_AUTHORIZATION_FAILED", False)
    assert w.sent[-1].api is Api.FIND_COORDINATOR
    w.answer("", False)
    assert w.sent[-1].api is Api.END_TXN and w.results[-1].is_completed and w.results[-1].error is None
