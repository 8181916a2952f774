"""An unexpected error in one trial: one sentence for the user, the traceback in a file, the other trials go on."""

from __future__ import annotations

import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.files import write_whole
from harness.model.errors import EnvironmentProblem
from harness.text.escaping import for_logs, safe_line, safe_lines

#: The code of a trial that ended so, and the file in its folder that says where.
CODE: Final = "defect"
TRACEBACK: Final = "traceback.txt"
MOST_CHARS: Final = 400


def told(error: BaseException, folder: Path) -> str:
    """A sentence about ``error``, whose traceback is written into ``folder``."""
    with suppress(EnvironmentProblem):  # a disk that is full is told by whatever is written next
        write_whole(
            folder / TRACEBACK,
            for_logs(safe_lines("".join(traceback.format_exception(error)))).encode(),
            folder.parents[1],
        )
    said = safe_line(str(error), MOST_CHARS)
    return f"a defect of kafka-trial: {type(error).__name__}: {said} ({TRACEBACK} in its folder says where)"
