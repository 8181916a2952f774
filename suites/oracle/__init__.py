"""The oracle: the state machines of Kafka's producer, consumer and brokers, written from Kafka's sources as data.

Checks of the client's trace, properties and generated pages use these tables. The reference client has its own
(``clients/reference/states.py``), and neither side can import the other: import-linter forbids it in both
directions. A difference between the two fails ``tests/clients/reference/test_states.py``.

The sources are the Java client of Apache Kafka 4.1.1, KIPs and issues of Kafka, and the behaviours of
``docs/reference/requirements``. A source ``Sender#runOnce, #failBatch: ProducerBatch#done`` names methods: those of
``Sender``, which call the last one.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.oracle.batch import BATCH
from suites.oracle.broker_group import CLASSIC_GROUP
from suites.oracle.connection import CONNECTION
from suites.oracle.fetch import FETCH
from suites.oracle.life import LIFE
from suites.oracle.machine import MachineOracle
from suites.oracle.member import MEMBER
from suites.oracle.membership import MEMBERSHIP
from suites.oracle.producer_id import PRODUCER_ID
from suites.oracle.sequence import SEQUENCE
from suites.oracle.transaction import TRANSACTION

MACHINES: Mapping[str, MachineOracle] = {
    oracle.name: oracle for oracle in (CONNECTION, BATCH, PRODUCER_ID, TRANSACTION, SEQUENCE, LIFE)
}
"""The machines of a producer, by name."""

CONSUMER_MACHINES: Mapping[str, MachineOracle] = {
    oracle.name: oracle for oracle in (MEMBER, MEMBERSHIP, FETCH)
}
"""The machines of a consumer, by name."""

BROKER_MACHINES: Mapping[str, MachineOracle] = {CLASSIC_GROUP.name: CLASSIC_GROUP}
"""The machines of brokers, by name. They judge the scripted brokers."""
