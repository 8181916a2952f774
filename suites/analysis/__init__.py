"""Facts that checks, scenarios and perturbations derive from the evidence. All functions are pure."""
