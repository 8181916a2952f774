"""One module for each command of ``kafka-trial``."""
