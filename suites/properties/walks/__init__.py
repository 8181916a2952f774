"""Walks: runs of the laws' state machines that bring about what chance rarely does, whatever the seed.

One table a machine: the situation, and the rules that lead to it with their arguments.
"""
