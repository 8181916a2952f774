"""What a client under test is given of its own settings, and what it could not apply of those that the user chose."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from harness.model.contract import CLIENT_CONFIG_FEATURE, Configured
from harness.model.spec import TrialSpec, own_name
from harness.planning import typed_settings

NOT_TAKEN = "its program does not take settings under the client's own names"


def given(spec: TrialSpec, features: Collection[str]) -> dict[str, str]:
    """Return the settings under the client's own names that a program with these features gets."""
    return typed_settings.texts(spec.client_config) if CLIENT_CONFIG_FEATURE in features else {}


def not_set(spec: TrialSpec, own: Mapping[str, str], event: Configured) -> dict[str, str]:
    """Return every setting that the client could not apply, with the reason.

    ``own`` is what it was given of its own settings; they have its name before them.
    """
    lacking = {key: NOT_TAKEN for key in spec.client_config if key not in own} | event.client_not_set
    return event.not_set | {own_name(spec.client.name, key): why for key, why in lacking.items()}


def ignored(spec: TrialSpec, lacking: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``lacking`` that the user chose."""
    return {name: why for name, why in lacking.items() if name in spec.chosen}
