"""Walks: runs of the properties' state machines that produce rare situations, whatever the seed.

Each machine has one table of situations, with the rules and arguments that lead to each.
"""
