"""The settings that a campaign may vary and their possible values, as the workloads declare them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from harness.model.errors import UsageError, unknown
from harness.plugins import registry
from harness.plugins.workload import Setting, Values
from harness.text.globs import matches


def known() -> Mapping[str, Sequence[Values]]:
    """Return the settings of all workloads by name, each with the values that it has in one or more of them."""
    found: defaultdict[str, list[Values]] = defaultdict(list)
    for kind in registry.table("workloads").values():
        for name, values in kind.settings.items():
            if values not in found[name]:
                found[name].append(values)
    return found


def withheld(name: str) -> str | None:
    """Return why no campaign may vary this setting of Java's client, or None if it may or if it is unknown."""
    if name in known():
        return None
    for kind in registry.table("workloads").values():
        for pattern, why in kind.withheld.items():
            if matches(name, pattern):
                return str(why)
    return None


def accepted(name: str, value: object) -> Setting:
    """Return the value as a plan has it. Raise UsageError for a setting or a value that no workload knows."""
    if (why := withheld(name)) is not None:
        raise UsageError("setting-withheld", "{name} cannot be set: {why}", name=name, why=why)
    if name not in (settings := known()):
        raise unknown("setting of a client", name, settings)
    for values in settings[name]:
        if takes(values, value):
            assert isinstance(value, str | int)
            return str(value) if isinstance(values, tuple) else value
    raise UsageError(
        "setting-value-refused",
        "{name} must be {expected}, not {value!r}",
        name=name,
        expected=" or ".join(map(told, settings[name])),
        value=value,
    )


def takes(values: Values, value: object) -> bool:
    """Return whether a setting with these values takes this one."""
    match values:
        case None:
            return isinstance(value, bool)
        case range():
            return isinstance(value, int) and not isinstance(value, bool) and value in values
    return isinstance(value, str | int) and str(value) in values


def told(values: Values) -> str:
    """Return in words what values a setting takes."""
    match values:
        case None:
            return "true or false"
        case range():
            return f"a whole number from {values[0]} to {values[-1]}"
    return f"one of {', '.join(values)}"
