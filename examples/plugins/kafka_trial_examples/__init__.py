"""Plug-ins for kafka-trial: one part of each kind, found by entry points alone."""
