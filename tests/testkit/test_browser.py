"""The browser of the tests of pages says when it has ended."""

from __future__ import annotations

import os

import pytest

from testkit.browser import Browser


def test_a_browser_that_has_ended_is_named() -> None:
    (answers, answering), (commanded, commands) = os.pipe(), os.pipe()
    os.close(answering)
    try:
        with pytest.raises(AssertionError, match="the browser has ended"):
            Browser(commands, answers)
    finally:
        for each in (answers, commands, commanded):
            os.close(each)
