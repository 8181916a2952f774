"""From what the user asks for to a plan of trials that can be run."""
