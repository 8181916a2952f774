"""Whether the scripted brokers are brokers: the same plan is played on them and on real ones, and the answers compared.

A plan (:mod:`.steps`) is drawn from dice (:mod:`.plans`): requests, good and bad, and faults between them. A peer
without a client in it plays the plan on one side at a time (:mod:`.player`), the real one (:mod:`.real_side`) or the
scripted one (:mod:`.scripted_side`). What was heard is made comparable (:mod:`.observed`) and held against each other
(:mod:`.compare`); what may differ is a table with reasons (:mod:`.differences`).

``python -m testkit.fidelity --plans 200`` prints the figures.
"""
