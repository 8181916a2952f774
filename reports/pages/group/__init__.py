"""The members of a group over time: who lived, who owned what, how far they were, what they committed.

It is read from the events and frames themselves, without the analysis of the checks, so that a reader sees what the
checks judged.
"""
