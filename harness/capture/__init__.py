"""The capture: an observer of one trial's packets on loopback that is no part of the path.

It stands on the client's side of a lane, before proxy and witness, and reads nothing that either wrote. A process of
its own (``tap``, ``__main__``) writes what the kernel saw to ``capture.pcapng``; everything else is pure, on that file:
``packets`` reads headers, ``flows`` puts bytes in order, ``connections`` tells TCP facts and Kafka frames, ``layers``
has Kafka for scapy. What it tells is evidence (``rows``), and judgement holds it against the witness's word
(``pairing``, ``crosscheck``). It costs a process a trial; without the right to capture a trial goes on and its record
says what was lacking.
"""
