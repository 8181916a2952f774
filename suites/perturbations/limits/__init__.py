"""The limits of excuses: defects just outside of what a check forgives, and which excuse each of them tests.

A check forgives if a defect cannot be distinguished from bad luck. Each perturbation here puts the same
defect next to that bad luck: on another connection, in another partition, before it began or long after it
ended.
"""
