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
    tails,
    trusting,
    waiting,
)

PERTURBATIONS = (
    *assigning.PERTURBATIONS,
    *joining.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *giving_up.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *losing.PERTURBATIONS,
    *polling.PERTURBATIONS,
    *tails.PERTURBATIONS,
    *trusting.PERTURBATIONS,
    *waiting.PERTURBATIONS,
)
