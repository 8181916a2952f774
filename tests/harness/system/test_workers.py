"""Worker processes import the modules of this installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os
from harness.system.workers import workers
with workers(2, ["harness.text.counting"]) as work:
    assert list(work(abs, [-1, 2])) == [1, 2]
assert "PYTHONSAFEPATH" not in os.environ
"""


def test_a_package_in_the_working_folder_is_never_imported(tmp_path: Path) -> None:
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("open('imported', 'w').close()")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    words = [sys.executable, "-c", f"import sys; sys.path.remove('')\n{PROGRAM}"]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
    assert not (tmp_path / "imported").exists()
