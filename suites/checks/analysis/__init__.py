"""What several checks need to know: faults on the way, when attempts were sent, what failed, what passed unread."""
