"""The second judgement of trials that consume, from the columns of what the members reported and the log has.

The functions return the same rows as ``harness.workloads.consume.tables`` and ``suites.group_anomalies``, without their
code: facts before any excuse. What the checks excuse, and why, has no second judgement.
"""
