"""Defects of members that show in their requests: how they join, stay, follow their coordinator, fetch and leave."""

from suites.perturbations.membership import (
    fetching,
    heartbeats,
    joining,
    losing,
    polling,
    staying,
    tails,
    waiting,
)

PERTURBATIONS = (
    *joining.PERTURBATIONS,
    *staying.PERTURBATIONS,
    *heartbeats.PERTURBATIONS,
    *fetching.PERTURBATIONS,
    *losing.PERTURBATIONS,
    *polling.PERTURBATIONS,
    *tails.PERTURBATIONS,
    *waiting.PERTURBATIONS,
)
