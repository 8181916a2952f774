"""SimulatedWorld: a trial in virtual time, decided to the last byte by its spec. Pure: no clock, no socket, no dice."""
