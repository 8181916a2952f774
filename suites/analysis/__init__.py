"""What checks, scenarios and perturbations read out of the evidence. Pure."""
