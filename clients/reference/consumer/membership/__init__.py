"""The group protocol of KIP-848: one heartbeat joins, subscribes and leaves, and the coordinator assigns."""
