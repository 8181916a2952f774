"""The parts that mutants share, and the table of mutants. Each mutant is a file of ``clients.mutants``."""
