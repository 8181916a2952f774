"""Defects of members that show in their requests: how they join, stay, follow their coordinator and leave."""

from suites.perturbations.membership import joining, staying

PERTURBATIONS = (*joining.PERTURBATIONS, *staying.PERTURBATIONS)
