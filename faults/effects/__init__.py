"""What shows that a fault took effect: connections that ended, lost responses, longer waits, errors from brokers.

Each function counts things in the evidence of one trial that would not exist without the fault. In a calm trial all of
them return 0, wherever the fault's row is put. They are pure.
"""
