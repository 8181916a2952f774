"""What mutants are made of, and their table; the mutants themselves are in ``clients.mutants``, a file each."""
