"""The settings that a campaign may vary, as the workloads have them, and the values that they take."""

from __future__ import annotations

from harness.model.errors import UsageError, unknown
from harness.plugins import registry
from harness.plugins.workload import Setting, Values


def known() -> dict[str, Values]:
    """The settings of all workloads, by name."""
    return {
        name: values
        for kind in registry.table("workloads").values()
        for name, values in kind.settings.items()
    }


def accepted(name: str, value: object) -> Setting:
    """The value, as a plan has it. UsageError for a setting or a value that no workload knows."""
    if name not in (settings := known()):
        raise unknown("setting of a client", name, settings)
    match settings[name], value:
        case range() as numbers, int() if not isinstance(value, bool):
            if value in numbers:
                return value
            raise UsageError(
                "setting-out-of-range",
                "{name} is {low} to {high}, not {value}",
                name=name,
                low=numbers[0],
                high=numbers[-1],
                value=value,
            )
        case range(), _:
            raise UsageError(
                "setting-not-a-number", "{name} is a whole number, not {value!r}", name=name, value=value
            )
        case None, bool():
            return value
        case None, _:
            raise UsageError(
                "setting-not-a-boolean", "{name} is true or false, not {value!r}", name=name, value=value
            )
        case words, str() | int() if str(value) in words:
            return str(value)
        case words, _:
            raise UsageError(
                "setting-not-a-choice",
                "{name} is one of {words}, not {value!r}",
                name=name,
                words=tuple(words),
                value=value,
            )
