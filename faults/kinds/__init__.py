"""The built-in kinds of fault, one file each. The file name is the name of the kind, and its ``FAULT`` is the kind."""
