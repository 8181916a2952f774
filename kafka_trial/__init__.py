"""The names for other packages and for tests: ``kafka_trial.api``, ``reference``, ``capture``, ``mutant``, ``live``.

They are the same in the repository, where our packages lie at the top, and in the wheel, which has all of them below
this one (``scripts/wheel_build.py``).
"""
