"""Turn a user's request into a plan of trials that can be run."""
