"""Many small things in frames or on the disk end a trial. The next client is not affected."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.jvm, pytest.mark.extended]


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("produces_to_many_partitions", "batches and elements of arrays in its requests and their responses"),
        ("fills_the_disk_with_many_files", "files and folders in its own folder"),
    ],
)
def test_many_small_things_end_the_trial_and_not_the_next(before_an_honest_one, name, limit):
    code, store = before_an_honest_one(name)

    first, second = store.verdicts()
    assert (first.verdict, second.verdict, code) == ("harness-error", "pass", 3)
    assert f"{limit}, got" in first.reason
    assert not (store.trial_folder(first.trial) / "client").exists()
