"""The laws of the reference client: properties that are tested in virtual time."""
