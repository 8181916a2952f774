"""The commands of ``kafka-trial``, one module each."""
