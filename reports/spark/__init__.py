"""The second judgement: the packed tables, analysed by PySpark."""
