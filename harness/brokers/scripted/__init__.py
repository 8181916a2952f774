"""Brokers in memory: they respond and store as real brokers do, without disk, sockets, threads, clock or randomness.

:class:`~harness.brokers.scripted.cluster.ScriptedCluster` takes request frames and returns response frames. Time is an
argument. A request that has to wait is answered by a later one, or by a timer (:mod:`.agenda`). The layers below it,
from the inside out: a partition's memory of each producer (:mod:`.producer_state`), the validation of a batch
(:mod:`.validation`), the log of one partition (:mod:`.partition_log`), topics and their leaders (:mod:`.topics`), the
groups of consumers (:mod:`.groups`), the transactions of producers (:mod:`.transactions`), the cluster's state and
settings (:mod:`.state`), and one module per API (:mod:`.apis`).

Simplified on purpose: followers copy at once unless they are paused or out of the ISR, every broker knows every
metadata change at once, and the controller decides without delay. A batch is stored as it was sent: the broker's own
``compression.type`` is always ``producer``. Groups do not change between the classic protocol and that of KIP-848 while
they have members, and regular expressions of subscriptions are Python's.
"""
