"""Mutants: the reference client with one seeded defect each, to show that every property and check can fail.

A mutant is a file of this package, and its name is the file's: components of the producer are swapped in it, and its
``MUTANT`` says what is wrong with them and who catches it. Nothing else is here. It is a client kind of its own,
``mutant-<name>``, run exactly as any other client; no default selection contains one. The defects are those that real
clients have had.
"""
