"""The lifecycle of plug-ins: created, configured, used, closed (PRD-ISP-03).

A setting names a plug-in as an object, a class (called without arguments), or "module:Class". Its
``configure(settings)`` method, if it has one, is called before first use, with every setting by Java name, including
the generated client.id. Its ``close()`` method is called when the client closes. If a plug-in cannot be created or
configured, those created before it are closed and the client is not created.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from clients.reference.errors import PluginError

logger = logging.getLogger("kafka-trial.reference")


class Plugins:
    """All plug-ins of one client, in the order of their creation. Each is closed once, in that order."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._made: list[tuple[str, Any]] = []

    def make(self, setting: str, given: Any, *methods: str, **more: Any) -> Any:
        """Return the plug-in of one setting, configured. ``more`` is passed to ``configure`` with the settings.

        Raise PluginError if it cannot be created, lacks one of ``methods``, or raises an exception.
        """
        try:
            plugin = _instance(given)
            self._made.append((setting, plugin))
            missing = [method for method in methods if not callable(getattr(plugin, method, None))]
            if missing:
                raise TypeError(f"it has no method {missing[0]}()")
            if hasattr(plugin, "configure"):
                plugin.configure(self._settings, **more)
        except Exception as error:
            raise PluginError(
                "plugin-failed",
                "{setting}: {given!r}: {type}: {why}",
                setting=setting,
                given=given,
                type=type(error).__name__,
                why=error,
            ) from error
        return plugin

    def close(self) -> None:
        """Close all plug-ins. An exception from one is logged and does not prevent the others."""
        made, self._made = self._made, []
        for setting, plugin in made:
            try:
                if hasattr(plugin, "close"):
                    plugin.close()
            except Exception:
                logger.warning("closing the plug-in of %s failed", setting, exc_info=True)

    def wanting(self, method: str) -> list[Any]:
        """Return the plug-ins that have an optional method."""
        return [plugin for _, plugin in self._made if callable(getattr(plugin, method, None))]


def _instance(given: Any) -> Any:
    if isinstance(given, str):
        module, _, name = given.partition(":")
        given = import_module(module)
        for part in name.split("."):
            given = getattr(given, part)
    return given() if isinstance(given, type) else given
