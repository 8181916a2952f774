"""What the consumer reads: the subscription, the assigned partitions, and the position and state of each."""
