"""An invalid setting is silently dropped and its default is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.producer.producer import Components
from clients.seeding.mutant import Mutant
from harness.model.errors import UsageError


class Forgiving(ProducerConfig):
    """Drops the setting that the error names and tries again."""

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any], **more: Any) -> ProducerConfig:
        try:
            return super().from_mapping(settings, **more)
        except UsageError as refusal:
            kept = {name: value for name, value in settings.items() if name != refusal.params.get("name")}
            if len(kept) == len(settings):
                raise
            return super().from_mapping({"bootstrap.servers": "localhost:9092"} | kept, **more)


MUTANT = Mutant(
    "silently drops an invalid setting",
    Components(config=Forgiving),
    caught_by=(
        "state_transitions/a_choice_is_one_of_those_listed",
        "state_transitions/a_flag_is_true_or_false_or_refused",
        "state_transitions/a_number_is_in_its_range_or_refused",
        "state_transitions/an_unknown_setting_is_not_passed_over",
        "state_transitions/bootstrap_servers_are_read_or_refused",
        "state_transitions/a_combination_is_refused_by_a_rule_or_in_force",
    ),
    breaks=("CLI-CFG-07", "CLI-CFG-09"),
)
