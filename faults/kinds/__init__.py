"""The kinds of fault: one file each, whose name is the kind's and whose ``FAULT`` is the kind. Nothing else is here."""
