"""What happened to the data: the numbers behind a verdict, over seeds, against thresholds, and between two sides.

A verdict says whether a client kept its promises. Outcomes say what it cost: how many records the client gave up, how
long none was acknowledged, how often it sent the same bytes. All of them are made from verdicts, without the evidence.
"""
