"""What shows that a fault bit: connections that ended, answers that were not heard, waits that grew, what brokers said.

Each function counts, in the evidence of one trial, what would not be there without the fault: in a calm trial all of
them give 0, wherever the fault's row is put. Pure.
"""
