"""What ``kafka-trial explain`` describes: its kind, its summary, facts with names, and its published page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import getdoc
from itertools import product
from typing import Any

from harness.baseline import file
from harness.baseline.known import KnownFailure
from harness.judging import availability
from harness.judging.judge import relevant
from harness.model.verdicts import Guarantee, Level, Verdict
from harness.planning import setting_values
from harness.planning.user_settings import written
from harness.plugins import registry
from harness.plugins.behaviour import Behaviour
from harness.plugins.check import Check
from harness.plugins.client import Capabilities, ClientKind, KnownSettings
from harness.plugins.cluster import BrokerKind
from harness.plugins.fault import FaultKind
from harness.plugins.mutant import PREFIX, Mutant
from harness.plugins.scenario import Scenario
from harness.plugins.workload import WorkloadKind
from harness.text.counting import some
from harness.text.globs import matches
from harness.text.version_order import by_version

VERDICTS = {
    Verdict.PASS: "Every requirement that was judged holds, and the fault was seen to take effect.",
    Verdict.FAIL: "At least one requirement is violated; the findings show the rows.",
    Verdict.DIFFERS: "No MUST is broken, but the client does not do what a SHOULD asks for.",
    Verdict.EXPECTED_FAIL: "It fails as the list of known failures says it does.",
    Verdict.UNEXPECTED_PASS: "It is listed as a known failure and passes: the list must be corrected.",
    Verdict.NOT_EXERCISED: "Nothing was wrong, but the fault was not seen to take effect: this proves nothing.",
    Verdict.INCONCLUSIVE: "The trial was disturbed (by an overloaded machine, for instance): this proves nothing.",
    Verdict.UNSUPPORTED: "The client declares that it does not support this.",
    Verdict.HARNESS_ERROR: "The harness, the environment or the adapter failed: this says nothing about the client.",
}
PROMISES = {
    Guarantee.AT_MOST_ONCE: "A record is in the log once or not at all, and an acknowledged one may be missing.",
    Guarantee.AT_LEAST_ONCE: "An acknowledged record is in the log, and after a lost response it may be there twice.",
    Guarantee.IDEMPOTENT: "An acknowledged record is in the log once, and each partition has the order of sending.",
    Guarantee.TRANSACTIONAL: "The records of a transaction are read together or not at all, each once.",
}


@dataclass(frozen=True)
class Page:
    """The description of one thing. A fact is a text, a number, a list of texts, or a table: name -> text."""

    name: str
    kind: str
    summary: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    def document(self) -> dict[str, Any]:
        """Return the page for ``--json``."""
        head = {"name": self.name, "kind": self.kind, "summary": self.summary}
        return head | dict(self.facts) | {"text": self.text}


def page(name: str) -> Page | None:
    """Return the page of a name, or None if nothing has it."""
    for find in (_of_part, _of_requirement, _of_setting, _of_word):
        if (found := find(name)) is not None:
            return found
    return None


def names() -> list[str]:
    """Return all names that have a page."""
    parts = {name for group in PARTS for name in registry.names(group)}
    words = {*map(str, VERDICTS), *map(str, PROMISES), "availability"}
    return sorted(parts | words | _requirements().keys() | setting_values.known().keys())


def page_of(entry: Any) -> str:
    """Return the published page of a fault, check or other registered object: the docstring of its module."""
    module = sys.modules[entry.run.__module__ if isinstance(entry, Check) else type(entry).__module__]
    return getdoc(module) or ""


def _of_part(name: str) -> Page | None:
    for group, facts in PARTS.items():
        if name in registry.names(group):
            entry = registry.one(group, group, name)
            return Page(name, group.removesuffix("s"), entry.summary, facts(entry), _text(entry))
    client, at, version = name.partition("@")
    if at and version and client in registry.names("clients"):
        kind = registry.client(client)
        return Page(name, "client", kind.summary, _client(kind, version), _text(kind))
    return None


def _text(entry: Any) -> str:
    return "" if isinstance(entry, Scenario | WorkloadKind) else page_of(entry)


def _broker(kind: BrokerKind) -> dict[str, Any]:
    return {"ids": list(kind.examples)}


def _fault(kind: FaultKind) -> dict[str, Any]:
    params = {p.name: f"{p.low} to {p.high}, {p.default} if not given: {p.what}" for p in kind.params}
    return {"modes": sorted(kind.modes), "seen by": list(kind.seen_by), "parameters": params}


def _check(check: Check) -> dict[str, Any]:
    return {
        "requirements": {each.id: str(each.level) for each in check.requirements},
        "guarantees": sorted(check.guarantees),
        "workloads": sorted(check.workloads),
        "caught mutant": check.killed_mutant,
    }


def _scenario(scenario: Scenario) -> dict[str, Any]:
    asked = product(registry.checks().values(), scenario.guarantees)
    kind = scenario.workload.kind
    judged = {each.id for check, guarantee in asked for each in relevant(check, guarantee, kind)}
    load = scenario.workload
    return {
        "exercises": list(scenario.exercises),
        "guarantees": list(scenario.guarantees),
        "workload": f"{kind}, {some(load.records, 'element')} in {load.load_ms} ms",
        "needs": scenario.needs,
        "shows by": getdoc(scenario.consequence) or "",
        "judged besides": sorted(judged - set(scenario.exercises)),
    }


def _workload(kind: WorkloadKind) -> dict[str, Any]:
    return {
        "API": kind.api,
        "guarantees": sorted(kind.features),
        "counts": dict(kind.meaning),
        "settings": sorted(kind.settings),
    }


def _client(kind: ClientKind, version: str = "") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "language": kind.language,
        "default version": kind.default_version,
        "versions tried": sorted(kind.versions, key=by_version),
    }
    if kind.name.startswith(PREFIX):
        mutant: Mutant = registry.mutant(kind.name.removeprefix(PREFIX))
        facts |= {
            "without the defect": mutant.of,
            "defect": mutant.defect,
            "caught by": list(mutant.caught_by),
        }
    told = version or kind.default_version
    if (seen := _capabilities(kind, told)) is not None:
        facts |= {
            "settings of": told,
            "codecs": list(seen.codecs),
            "settings": {java: ", ".join(own) for java, own in sorted(seen.applied.items())},
            "settings that cannot be set": dict(sorted(seen.not_set.items())),
            "settings of its own": f"-X {kind.name}:KEY=VALUE" if seen.takes_own else "none",
        }
        if (consumer := seen.consumer) is not None:
            facts |= {
                "settings of its consumer": {
                    java: ", ".join(own) for java, own in sorted(consumer.applied.items())
                },
                "settings that its consumer lacks": dict(sorted(consumer.not_set.items())),
            }
    elif version:
        facts |= {"settings of": f"{version} was not tried; kafka-trial run tells what it could not apply"}
    known = _known(kind, [version] if version else kind.versions)
    facts["known failures"] = {str(each): each.reason for each in known}
    facts["upstream issues"] = list(dict.fromkeys(each.url for each in known if each.url))
    return facts


def _capabilities(kind: ClientKind, version: str) -> Capabilities | None:
    return kind.capabilities(version) if isinstance(kind, KnownSettings) else None


def _known(kind: ClientKind, versions: Iterable[str]) -> list[KnownFailure]:
    """Return the entries of the named lists of known failures that apply to one of the versions."""
    refs = [f"{kind.name}@{version}" for version in versions]
    entries = [each for name in registry.names("baselines") for each in file.load(name)]
    return [each for each in entries if any(matches(ref, each.client) for ref in refs)]


PARTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "scenarios": _scenario,
    "checks": _check,
    "faults": _fault,
    "clients": _client,
    "brokers": _broker,
    "workloads": _workload,
}


def _requirements() -> dict[str, Behaviour | None]:
    """Return every id of the catalogues, and those that only checks or scenarios name."""
    found: dict[str, Behaviour | None] = {}
    for table_of in registry.table("behaviours").values():
        found |= table_of()
    for check in registry.checks().values():
        found |= {each.id: None for each in check.requirements if each.id not in found}
    return found


def _of_requirement(id: str) -> Page | None:
    if id not in (known := _requirements()):
        return None
    told, checks = known[id], registry.checks().values()
    judges = {check: each for check in checks for each in check.requirements if each.id == id}
    levels = [told.level] if told else sorted({each.level for each in judges.values()})
    mutants = {name: each for name, each in registry.table("mutants").items() if id in each.breaks}
    scenarios = registry.table("scenarios")
    facts = {
        "level": ", ".join(levels),
        "source": told.source if told else "",
        "judged by": {check.name: check.summary for check in judges},
        "guarantees": sorted({str(name) for each in judges.values() for name in each.guarantees}),
        "exercised by": {name: each.summary for name, each in scenarios.items() if id in each.exercises},
        "shown by mutants": {PREFIX + name: each.defect for name, each in mutants.items()},
    }
    for fact in ("scope", "not_yet", "not_yet_in_part", "on_any_client"):
        if value := getattr(told, fact, None):
            facts[fact.replace("_", " ")] = value
    return Page(id, "requirement", told.statement if told else "", facts)


def _of_setting(key: str) -> Page | None:
    if (why := setting_values.withheld(key)) is not None:
        return Page(key, "setting", f"It cannot be set: {why}.")
    if key not in (known := setting_values.known()):
        return None
    kinds = [kind for kind in registry.table("workloads").values() if key in kind.settings]
    given = {
        f"{kind.name}, {guarantee}": _given(kind, guarantee, key)
        for kind in kinds
        for guarantee in kind.features
    }
    can, cannot = _clients_with(key)
    meanings = (kind.setting_meanings.get(key, "") for kind in kinds)
    facts = {
        "values": " or ".join(map(setting_values.told, known[key])),
        "value if not given": given,
        "can be set": can,
        "cannot be set": cannot,
        "option": f"-X {key}=VALUE",
    }
    return Page(key, "setting", next(filter(None, meanings), ""), facts)


def _given(kind: WorkloadKind, guarantee: Guarantee, key: str) -> str:
    config = kind.config(guarantee, {})
    return written(config[key]) if key in config else "the client's default"


@cache
def _clients_with(key: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the clients, at their default versions, that can be given a setting, and those that cannot, with words."""
    can: dict[str, str] = {}
    cannot: dict[str, str] = {}
    for name in registry.names("clients"):
        if name.startswith(PREFIX):
            continue
        kind = registry.client(name)
        if (seen := _capabilities(kind, kind.default_version)) is None:
            continue
        ref = f"{name}@{kind.default_version}"
        if key in seen.applied:
            can[ref] = f"as {', '.join(seen.applied[key])}"
        elif key in seen.not_set:
            cannot[ref] = seen.not_set[key]
    return can, cannot


def _of_word(name: str) -> Page | None:
    if name in PROMISES:
        return _of_guarantee(Guarantee(name))
    if name in VERDICTS:
        return Page(name, "verdict", VERDICTS[Verdict(name)])
    if name == "availability":
        return Page(name, "measure", "", {}, getdoc(availability) or "")
    return None


def _forbids(guarantee: Guarantee, check: Check) -> bool:
    """Return whether a finding of the check is a broken MUST under the guarantee."""
    kinds = check.workloads
    asked = (each for kind in kinds for each in relevant(check, guarantee, kind))
    return any(each.level is Level.MUST for each in asked)


def _of_guarantee(guarantee: Guarantee) -> Page:
    forbids = {
        check.name: check.summary for check in registry.checks().values() if _forbids(guarantee, check)
    }
    kinds = [kind for kind in registry.table("workloads").values() if guarantee in kind.features]
    decided = {
        key: written((kind.config(guarantee, {}) | kind.identity("TOPIC", "PRODUCER"))[key])
        for kind in kinds
        for key in kind.essential(guarantee)
    }
    offered = [name for name, each in registry.table("scenarios").items() if guarantee in each.guarantees]
    facts = {"settings": decided, "forbids": forbids, "scenarios": offered}
    return Page(str(guarantee), "guarantee", PROMISES[guarantee], facts)
