"""Installations in a read-only cache are used. Missing installations are refused with one error."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from harness.provision.caches import cache_path
from testkit.codes import has_error

pytestmark = pytest.mark.jvm


@pytest.fixture
def read_only(planned):
    """Return a run whose command, and no other process, sees the cache as a read-only mount."""
    run = planned(1)
    cache = shlex.quote(str(cache_path()))
    mounted = f'mount --bind {cache} {cache} && mount -o remount,bind,ro {cache} && exec "$@"'
    run.command = ("unshare", "--mount", "sh", "-c", mounted, "sh", *run.command)
    tried = subprocess.run([*run.command[:6], "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"only root can mount a cache read-only: {tried.stderr.strip()}")
    return run


def test_installations_in_read_only_cache_are_used(read_only):
    code, stderr = read_only.execute()

    assert (code, read_only.verdicts()) == (0, [("pass", "held")])
    assert "warning" not in stderr
    assert read_only.has_exports() and read_only.remaining() == []


def test_missing_installation_is_refused_with_a_hint(read_only):
    asked = [*read_only.command, "run", "produce/calm", "-c", "kafka-python@2.0.1"]
    ended = subprocess.run(asked, cwd=read_only.store.folder, capture_output=True, text=True, check=False)

    assert ended.returncode == 3
    assert has_error(ended.stderr, "cache-not-writable") and "KAFKA_TRIAL_CACHE" in ended.stderr
    assert "Traceback" not in ended.stderr and not (read_only.store.folder / "runs").exists()
