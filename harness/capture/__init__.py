"""The capture: an observer of one trial's packets on loopback that is not part of the data path.

It observes the client's side of a lane, in front of proxy and witness, and uses no data of either. A separate process
(``tap``, ``__main__``) writes the packets that the kernel saw to ``capture.pcapng``. Everything else is pure and works
on that file: ``packets`` reads headers, ``flows`` orders bytes, ``connections`` extracts TCP facts and Kafka frames,
and ``layers`` defines Kafka for scapy. The result is evidence (``rows``), which judging compares with the witness's
rows (``pairing``, ``crosscheck``). The cost is one process per trial. Without the right to capture, the trial continues
and its record says what was missing.
"""
