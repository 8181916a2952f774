"""Where excuses end: defects just outside of what a check forgives, and which excuse each of them shows.

A check forgives where a defect cannot be told from bad luck. Each perturbation here puts the same defect beside that
bad luck: on another connection, in another partition, before it began or long after it was over.
"""
