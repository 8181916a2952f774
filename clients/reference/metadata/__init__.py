"""The client's metadata: topics, partitions and leaders."""
