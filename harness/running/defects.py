"""Report an unexpected error in one trial: a sentence for the user, and the traceback in a file.

Other trials continue.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.files import write_whole
from harness.model.errors import EnvironmentProblem
from harness.text.escaping import for_logs, safe_line, safe_lines

#: The code of such a trial's verdict, and the file in its folder with the traceback.
CODE: Final = "defect"
TRACEBACK: Final = "traceback.txt"
MOST_CHARS: Final = 400


def told(error: BaseException, folder: Path) -> str:
    """Return a sentence about ``error``, and write its traceback into ``folder``."""
    with suppress(EnvironmentProblem):  # The next write will report a full disk.
        write_whole(
            folder / TRACEBACK,
            for_logs(safe_lines("".join(traceback.format_exception(error)))).encode(),
            folder.parents[1],
        )
    said = safe_line(str(error), MOST_CHARS)
    return f"a defect of kafka-trial: {type(error).__name__}: {said} ({TRACEBACK} in its folder says where)"
