"""The table of mutants, a module a part of the client."""
