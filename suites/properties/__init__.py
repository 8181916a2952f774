"""The properties of the reference client, which are tested in virtual time."""
