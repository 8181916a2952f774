"""The properties of the reference client: properties that are tested in virtual time."""
