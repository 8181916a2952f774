"""The memory of a measured program, from the kernel. Standard library only."""

from __future__ import annotations

from pathlib import Path


def resident_bytes() -> int:
    """Return the present memory of this program."""
    return _bytes("VmRSS:")


def peak_rss_bytes() -> int:
    """Return the peak memory of this program alone. (ru_maxrss would include the parent's memory at the fork.)"""
    return _bytes("VmHWM:")


def forget_peak() -> None:
    """Let the peak begin at the present memory."""
    Path("/proc/self/clear_refs").write_text("5")


def _bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(name)) * 1024
