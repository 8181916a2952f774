"""The lifecycle of plug-ins: created, configured, used, closed (PRD-ISP-03).

A setting names a plug-in as an object, a class (called without arguments), "module:Class", or the Java class of which
it is the counterpart. Its ``configure(settings)`` method, if it has one, is called before first use, with every setting
by Java name, including the generated client.id, and with all settings that the client does not know. Its ``close()``
method is called when the client closes. If a plug-in cannot be created or configured, those created before it are
closed and the client is not created.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from clients.reference.errors import PluginError
from harness.model.errors import unknown

logger = logging.getLogger("kafka-trial.reference")


class ReadSettings(Mapping[str, Any]):
    """Settings that record which of them were ``read`` (RecordingMap in Java)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)


class Plugins:
    """All plug-ins of one client, in the order of their creation. Each is closed once, in that order.

    ``counterparts`` maps names of Java classes to classes of this client.
    """

    def __init__(self, settings: Mapping[str, Any], counterparts: Mapping[str, type] | None = None) -> None:
        self._settings = ReadSettings(settings)
        self._counterparts = counterparts or {}
        self._made: list[tuple[str, Any]] = []

    def make(self, setting: str, given: Any, *methods: str, **more: Any) -> Any:
        """Return the plug-in of one setting, configured. ``more`` is passed to ``configure`` with the settings.

        Raise PluginError if it cannot be created, lacks one of ``methods``, or raises an exception.
        """
        try:
            plugin = self._instance(setting, given)
            self._made.append((setting, plugin))
            missing = [method for method in methods if not callable(getattr(plugin, method, None))]
            if missing:
                raise TypeError(f"it has no method {missing[0]}()")
            if hasattr(plugin, "configure"):
                plugin.configure(self._settings, **more)
        except PluginError:
            raise
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

    def refuse_unread(self, what: str, own: Mapping[str, Any], known: Mapping[str, object]) -> None:
        """Raise UsageError for a setting in ``own`` that no plug-in has read. ``known`` are the client's."""
        for name in own:
            if name not in self._settings.read:
                raise unknown(f"{what} setting", name, known)

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

    def _instance(self, setting: str, given: Any) -> Any:
        if isinstance(given, str):
            given = self._named(setting, given)
        return given() if isinstance(given, type) else given

    def _named(self, setting: str, name: str) -> Any:
        module, colon, path = name.partition(":")
        if not colon:
            if name not in self._counterparts:
                raise PluginError(
                    "java-class-without-counterpart",
                    "{setting}: the reference client has no counterpart of the Java class {name}",
                    setting=setting,
                    name=name,
                )
            return self._counterparts[name]
        found = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found
