"""A cache that cannot be written: what is provisioned is used as it is; what is not is refused in one sentence."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from harness.provision.caches import cache_path
from testkit.codes import has_error

pytestmark = pytest.mark.jvm


@pytest.fixture
def read_only(planned):
    """A run whose command sees the cache on a disk that is mounted read-only, and nobody else does."""
    run = planned(1)
    cache = shlex.quote(str(cache_path()))
    mounted = f'mount --bind {cache} {cache} && mount -o remount,bind,ro {cache} && exec "$@"'
    run.command = ("unshare", "--mount", "sh", "-c", mounted, "sh", *run.command)
    tried = subprocess.run([*run.command[:6], "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"only root can mount a cache read-only: {tried.stderr.strip()}")
    return run


def test_what_is_provisioned_is_used_from_a_read_only_cache(read_only):
    code, said = read_only.carried_out()

    assert (code, read_only.verdicts()) == (0, [("pass", "held")])
    assert "warning" not in said
    assert read_only.has_exports() and read_only.left() == []


def test_what_is_not_provisioned_is_refused_with_what_to_do(read_only):
    asked = [*read_only.command, "run", "produce/calm", "-c", "kafka-python@2.0.1"]
    told = subprocess.run(asked, cwd=read_only.store.folder, capture_output=True, text=True, check=False)

    assert told.returncode == 3
    assert has_error(told.stderr, "cache-not-writable") and "KAFKA_TRIAL_CACHE" in told.stderr
    assert "Traceback" not in told.stderr and not (read_only.store.folder / "runs").exists()
