"""The laws of the reference client: properties that are tried in virtual time."""
