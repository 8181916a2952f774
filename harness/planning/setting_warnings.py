"""What is known before a run about settings that a client will not apply, and what the seed draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from harness.model.spec import ClientRef, Origin, TrialSpec, own_name
from harness.planning.client_settings import NOT_TAKEN
from harness.planning.user_settings import written
from harness.plugins import registry
from harness.plugins.client import KnownSettings
from harness.text.counting import some

#: How many values of one drawn setting are listed.
SHOWN = 8


def sentence(client: ClientRef, name: str, why: str) -> str:
    """Return the warning about a setting that the user chose and the client does not apply."""
    return f"warning: {client} does not get {name}: {why}"


def known_before(specs: Iterable[TrialSpec]) -> Iterator[str]:
    """Yield a warning for each setting that the user chose and that its client is known not to apply."""
    told: dict[str, None] = {}
    for spec in specs:
        if not spec.chosen or spec.client.command:
            continue
        kind = registry.client(spec.client.name)
        known = kind.capabilities(spec.client.version) if isinstance(kind, KnownSettings) else None
        seen = known and known.of_role(registry.workload(spec.workload.kind).role)
        if seen is None:
            continue
        lacking = {name: why for name, why in seen.not_set.items() if name in spec.chosen}
        if not seen.takes_own:
            lacking |= {own_name(spec.client.name, key): NOT_TAKEN for key in spec.client_config}
        told |= dict.fromkeys(sentence(spec.client, name, why) for name, why in lacking.items())
    yield from told


def drawn(specs: Iterable[TrialSpec]) -> Iterator[str]:
    """Yield a sentence for each setting that the seeds draw: its values, and how to fix it."""
    values: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for spec in specs:
        for name, origin in spec.origins.items():
            if origin == Origin.SEED:
                value = written(spec.config[name])
                values[name][value] = values[name].get(value, 0) + 1
    for name, counts in sorted(values.items()):
        shown = ", ".join(
            f"{value} in {some(count, 'trial')}" for value, count in list(counts.items())[:SHOWN]
        )
        more = f" and {some(len(counts) - SHOWN, 'other value')}" if len(counts) > SHOWN else ""
        yield f"the seed draws {name}: {shown}{more}; -X {name}=VALUE fixes it"
