"""Verify the scripted brokers: play the same plan on them and on real brokers, and compare the responses.

A plan (:mod:`.steps`) is drawn from dice (:mod:`.plans`): valid and invalid requests, with faults in between. A peer
that contains no client code plays the plan on one side at a time (:mod:`.player`), the real one (:mod:`.real_side`) or
the scripted one (:mod:`.scripted_side`). The results are normalised (:mod:`.observed`) and compared (:mod:`.compare`).
A table lists the permitted differences with their reasons (:mod:`.differences`).

Plans are about producing (:mod:`.plans`), reading (:mod:`.reading_plans`), classic groups (:mod:`.classic_plans`),
groups of KIP-848 (:mod:`.consumer_plans`) or transactions (:mod:`.transaction_plans`). A request that waits is answered
by a later step, and both sides must answer it at the same one.

``python -m testkit.fidelity --plans 200`` prints the figures.
"""
