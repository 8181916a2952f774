"""Consuming a topic with known content: transactions that end in both ways, markers, gaps, codecs, and a lost end."""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.mode import BOTH_MODES
from harness.model.spec import AtTime, FaultSpec, OnFrame, OnPhase, Workload
from harness.plugins.scenario import Config
from suites.scenarios.consume import GUARANTEES, READ, READING, thrice
from suites.scenarios.effects import members, reading
from suites.scenarios.situation import situation

#: From before the first client is configured.
FROM_START_MS: Final = 30_000
COMMITTED: Final[Config] = {"isolation.level": "read_committed"}

_scenario = partial(situation, "consume", workload=READ, guarantees=GUARANTEES, modes=BOTH_MODES)

TRANSACTIONS: Final = Workload(
    kind="consume", records=1_200, records_per_command=40, params={"members": 2, "transactions": 1}
)

TRANSACTIONS_COMMITTED = _scenario(
    "transactions-committed",
    "Three times all connections end, while two members read what is committed of transactions that commit and abort.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    "CSM-FET-04",
    "CSM-FET-05",
    workload=TRANSACTIONS,
    config=COMMITTED,
)

TRANSACTIONS_UNCOMMITTED = _scenario(
    "transactions-uncommitted",
    "Three times all connections end, while two members read all records of transactions that commit and abort.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    "CSM-FET-04",
    workload=TRANSACTIONS,
)

OPEN_TRANSACTION = _scenario(
    "open-transaction",
    "A transaction stays open in each partition for two seconds or more, while members read what is committed.",
    lambda dice: (
        FaultSpec(
            "open_transaction",
            AtTime(dice.between(400, 1_200)),
            dice.between(2_000, 2_800),
            {"records": dice.between(1, 20), "commits": dice.between(0, 1)},
        ),
    ),
    members.held_up,
    *READING,
    "CSM-FET-05",
    config=COMMITTED,
)

OPEN_TRANSACTION_DISCONNECT = _scenario(
    "open-transaction-disconnect",
    "A transaction stays open in each partition, and ends while all connections are down.",
    lambda dice: (
        FaultSpec(
            "open_transaction",
            AtTime(dice.between(400, 800)),
            dice.between(2_000, 2_400),
            {"records": dice.between(1, 20), "commits": dice.between(0, 1)},
        ),
        FaultSpec("disconnect", AtTime(dice.between(2_000, 2_300)), dice.between(1_000, 1_400)),
    ),
    members.held_up,
    *READING,
    "CSM-FET-05",
    config=COMMITTED,
)

CONTROL_TAIL = _scenario(
    "control-tail",
    "A member reads a log that ends with markers and aborted records, and is cut off once.",
    lambda dice: (
        FaultSpec("disconnect", OnFrame("Fetch", "request", nth=dice.between(1, 3)), dice.between(200, 400)),
    ),
    members.cut_off,
    *READING,
    "CSM-FET-04",
    "CSM-FET-05",
    workload=Workload(
        kind="consume", records=240, records_per_command=40, params={"members": 1, "transactions": 1}
    ),
    config=COMMITTED,
)

COMPACTED = _scenario(
    "compacted",
    "Members read a topic whose first records the log cleaner has thinned out, and are cut off once.",
    lambda dice: (
        FaultSpec("compaction", OnPhase("startup"), FROM_START_MS),
        FaultSpec("disconnect", AtTime(dice.between(400, 1_200)), dice.between(300, 600)),
    ),
    reading.passed_gaps,
    *READING,
    "CSM-FET-04",
)

UNCLEAN_ELECTION = _scenario(
    "unclean-election",
    "A replica becomes the leader that lacks records which members have read, and other records take their offsets.",
    lambda dice: (
        FaultSpec(
            "unclean_election",
            AtTime(dice.between(600, 1_200)),
            dice.between(1_500, 2_500),
            {"records": dice.between(3, 30)},
        ),
    ),
    reading.truncated,
    *READING,
    "CSM-FET-06",
    "CSM-FET-07",
    needs_brokers=3,
    exclusive_cluster=True,
)

CODECS = _scenario(
    "codecs",
    "Three times all connections end, while members read batches of several codecs larger than their fetch limit.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    workload=Workload(
        kind="consume",
        records=300,
        records_per_command=10,
        value_bytes=4_000,
        params={"members": 2, "codecs": 1},
    ),
    config={"max.partition.fetch.bytes": 4_096},
)
