"""Checks of clients that consume: what members of a group were given, owned and committed."""
