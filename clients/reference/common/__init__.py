"""What network, metadata and producer share."""
