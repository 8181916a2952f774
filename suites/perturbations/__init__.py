"""Perturbations: good evidence, changed as a named defect of a client would have left it. They measure the checker.

A mutant shows that a defect of the reference client is caught in virtual time. A perturbation needs no
client. It takes the stored evidence of a trial that passed, of any client and either mode, and changes it
consistently across all channels. If the checks do not accuse the result, the defect has escaped.

:mod:`~suites.perturbations.perturbation` defines a perturbation. Each topic has a module or a package of
them, and :mod:`~suites.perturbations.table` lists them all. :mod:`~suites.perturbations.edits` and its
neighbours change one channel so that the others still agree. :mod:`~suites.perturbations.trying` judges, and
``kafka-trial perturb`` prints.
"""
