"""Brokers in memory: what a real broker answers and keeps, without a disk, a socket, a thread, a clock or a die.

:class:`~harness.brokers.scripted.cluster.ScriptedCluster` takes request frames and gives response frames; time is an
argument. The layers below it, from the inside out: what a partition remembers of each producer
(:mod:`.producer_state`), what makes a batch acceptable (:mod:`.validation`), one replica set's log
(:mod:`.partition_log`), topics and who leads them (:mod:`.topics`), the cluster's state and settings (:mod:`.state`),
and one module an API (:mod:`.apis`).

What is left out, on purpose: followers copy at once unless they are paused or out of the ISR, every broker knows every
change of the metadata at once, and the controller decides without delay. A batch is stored as it came: the broker's own
``compression.type`` is always ``producer``.
"""
