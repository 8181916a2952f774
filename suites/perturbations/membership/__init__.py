"""Defects of members that show in their requests: how they join, stay, follow their coordinator, fetch and leave."""

from suites.perturbations.membership import (
    assigning,
    fetching,
    giving_up,
    heartbeats,
    joining,
    losing,
    polling,
    staying,
    storms,
    tails,
    trusting,
    waiting,
)

PERTURBATIONS = (
    *assigning.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *giving_up.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *joining.PERTURBATIONS,
    *losing.PERTURBATIONS,
    *polling.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *storms.PERTURBATIONS,
    *tails.PERTURBATIONS,
    *trusting.PERTURBATIONS,
    *waiting.PERTURBATIONS,
)
