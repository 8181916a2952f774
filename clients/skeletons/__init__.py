"""What somebody begins with: an adapter for a client of their own, a campaign file, a CI workflow.

A skeleton is the contract library of a language, taken from beside the adapters that use it, and templates. A template
lies where its file will, under the same name with ``.template`` behind it.
"""
