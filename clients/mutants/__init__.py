"""Mutants: the reference client with one seeded defect each. They show that every property and check can fail.

Each file of this package is one mutant of the same name. It replaces components of the producer, and its ``MUTANT``
says what the defect is and which properties and checks catch it. A mutant is also a client kind, ``mutant-<name>``, and
runs exactly like any other client. No default selection contains a mutant. Real clients have had these defects.
"""
