"""Perturbations: good evidence, changed as a named defect of a client would have left it; they measure the checker.

A mutant shows that a defect of the reference client is caught in virtual time. A perturbation needs no client: it takes
the stored evidence of a trial that passed, of any client and either world, and changes it consistently over all
channels. What is then not accused has escaped.

:mod:`~suites.perturbations.perturbation` says what a perturbation is; each topic has a module or a package of them
(:mod:`~suites.perturbations.table` has them all); :mod:`~suites.perturbations.edits` and its neighbours change one
channel so that the others still agree; :mod:`~suites.perturbations.trying` judges, and ``kafka-trial perturb`` prints.
"""
