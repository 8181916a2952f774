"""A headless Chromium for tests of pages, driven by its own protocol over a pipe.

Chromium reads commands from descriptor 3 and writes answers and events to descriptor 4, each a JSON document that ends
with a null byte. No network, no port and no library are involved.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 120
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
_COPIED = "3<&{0} 4>&{1}"


def found() -> str | None:
    """Return the path of a Chromium of this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a Chromium. ``said`` are its console errors and uncaught exceptions, in words."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers, self._left, self._number = commands, answers, b"", 0
        self._session: str | None = None
        self._loaded: set[str] = set()
        self.said: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def open(self, path: Path, width: int, height: int = 900, fragment: str = "") -> None:
        """Show a file at this size, and wait until it is loaded and its figures are drawn."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        # An address that differs only in its fragment would load nothing, so an empty page comes first.
        for address in ("about:blank", path.as_uri() + fragment):
            loader = self.call("Page.navigate", url=address)["loaderId"]
            while loader not in self._loaded:
                self._read()
        self.value("window.drawn")

    def value(self, script: str) -> Any:
        """Return the value of an expression, or of the promise that it returns."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write what is shown, from top to bottom, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._commands, json.dumps(asked).encode() + b"\0")
        while (told := self._read()).get("id") != self._number:
            pass
        assert "error" not in told, told["error"]
        result: dict[str, Any] = told["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            assert ready, "the browser does not answer"
            more = os.read(self._answers, 1 << 20)
            assert more, "the browser has ended"
            self._left += more
        line, _, self._left = self._left.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        self._note(told.get("method", ""), told.get("params", {}))
        return told

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Page.lifecycleEvent" and params["name"] == "load":
            self._loaded.add(params["loaderId"])
        elif event == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.said.append(str(params["entry"]))
        elif event == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.said.append(str(params["args"]))


@contextmanager
def browser(path: str, profile: Path) -> Iterator[Browser]:
    """Yield a page of the Chromium at ``path``, which ends with the block."""
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    script = f'exec "$@" {_COPIED.format(command_out, answer_in)}'
    argv = ["bash", "-c", script, "bash", path, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(
        argv, pass_fds=(command_out, answer_in), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        os.close(command_out)
        os.close(answer_in)
        try:
            yield Browser(command_in, answer_out)
        finally:
            process.kill()
            os.close(command_in)
            os.close(answer_out)
