"""The transaction coordinator: which producer may write under a transactional id, and how its transactions end.

A transaction keeps to the table of :mod:`.states`. :mod:`.metadata` has what the coordinator stores of it and how each
move changes that, :mod:`.ending` whether an EndTxn may end it, :mod:`.markers` its end in the logs, and
:mod:`.admission` what a broker asks before it appends to it. :class:`~.coordinator.TransactionCoordinator` brings them
together. The facts come from Kafka's ``TransactionCoordinator`` (KIP-98, KIP-360, KIP-447, KIP-890).
"""
