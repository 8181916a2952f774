"""The second judgement: PySpark's analysis of the packed tables."""
