"""The classic group protocol: membership, rebalances, heartbeats, and the group's committed offsets."""
