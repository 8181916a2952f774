"""Skeletons to start from: an adapter for a new client, a campaign file, a CI workflow.

An adapter skeleton consists of templates and a copy of the language's contract library from ``clients/adapters``. Each
template has the path of the file that it becomes, plus ``.template``.
"""
