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
            raise UsageError(f"{name} is {numbers[0]} to {numbers[-1]}, not {value}")
        case range(), _:
            raise UsageError(f"{name} is a whole number, not {value!r}")
        case None, bool():
            return value
        case None, _:
            raise UsageError(f"{name} is true or false, not {value!r}")
        case words, str() | int() if str(value) in words:
            return str(value)
        case words, _:
            raise UsageError(f"{name} is one of {', '.join(words)}, not {value!r}")
