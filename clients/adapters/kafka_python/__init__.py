"""kafka-python, with the packages for every codec."""

from __future__ import annotations

from pathlib import Path

from clients.adapters.python_lib.pypi_client import PyPIClient

#: The packages of its extras. They are listed by name because older versions support the codecs without extras.
EXTRAS = ("crc32c==2.8", "lz4==4.4.5", "python-snappy==0.7.3", "zstandard==0.25.0")

CLIENT = PyPIClient(
    name="kafka-python",
    summary="kafka-python, pure Python",
    language="python",
    default_version="3.0.12",
    versions=("1.4.7", "2.0.2", "2.0.6", "2.2.21", "2.3.3", "3.0.12"),
    program=Path(__file__).parent / "main.py",
    beside=lambda _version: EXTRAS,
)
