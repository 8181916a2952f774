"""The life of what the application plugs in: made, configured, used, closed (PRD-ISP-03).

A setting names a plug-in as an object, a class (called without arguments), or "module:Class". ``configure(settings)``
is called, where there is one, before first use, with every setting by Java name, the generated client.id among them;
``close()`` with the client. If making or configuring one fails, those before it are closed and the client is not
made.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from clients.reference.errors import PluginError

logger = logging.getLogger("kafka-trial.reference")


class Plugins:
    """All plug-ins of one client, in the order in which they were made; closed in that order, each once."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._made: list[tuple[str, Any]] = []

    def make(self, setting: str, given: Any, *methods: str, **more: Any) -> Any:
        """The plug-in of one setting, configured; ``more`` goes to ``configure`` beside the settings.

        Raises PluginError where it cannot be had, lacks one of ``methods``, or raises itself.
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
            raise PluginError(f"{setting}: {given!r}: {type(error).__name__}: {error}") from error
        return plugin

    def close(self) -> None:
        """Close all; what one of them raises is logged and stops nobody else."""
        made, self._made = self._made, []
        for setting, plugin in made:
            try:
                if hasattr(plugin, "close"):
                    plugin.close()
            except Exception:
                logger.warning("closing the plug-in of %s failed", setting, exc_info=True)

    def wanting(self, method: str) -> list[Any]:
        """The plug-ins that have an optional method."""
        return [plugin for _, plugin in self._made if callable(getattr(plugin, method, None))]


def _instance(given: Any) -> Any:
    if isinstance(given, str):
        module, _, name = given.partition(":")
        given = import_module(module)
        for part in name.split("."):
            given = getattr(given, part)
    return given() if isinstance(given, type) else given
