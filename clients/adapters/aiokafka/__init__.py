"""aiokafka, with the packages for every codec."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.python_lib.pypi_client import PyPIClient

#: The packages of its extras. They are listed by name because the extras changed between versions.
CODECS = ("cramjam==2.11.0", "lz4==4.4.5", "python-snappy==0.7.3", "zstandard==0.25.0")


def beside(version: str) -> tuple[str, ...]:
    """Return the codecs, and for 0.6 to 0.8 the last compatible kafka-python, which those versions do not pin."""
    on_kafka_python = version.startswith(("0.6.", "0.7.", "0.8."))
    return (*CODECS, "kafka-python==2.0.2") if on_kafka_python else CODECS


CLIENT = PyPIClient(
    name="aiokafka",
    summary="aiokafka, a client for asyncio",
    language="python",
    default_version="0.14.0",
    versions=("0.8.1", "0.10.0", "0.11.0", "0.12.0", "0.14.0"),
    program=Path(__file__).parent / "main.py",
    beside=beside,
)
