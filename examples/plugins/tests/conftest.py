"""Tests of the parts one by one, and of whole trials in virtual time.

Trials find parts by their entry points, so the tests of trials need the installed distribution. The others need only
its source.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

try:
    distribution("kafka-trial-examples")
except PackageNotFoundError:
    collect_ignore = ["test_trials.py"]
