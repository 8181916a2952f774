"""The frames of a capture in scapy, which needs the extra ``capture``: see :mod:`harness.capture.layers`."""

from harness.capture.layers import dissected

__all__ = ["dissected"]
