"""What the client knows of topics, partitions and leaders."""
