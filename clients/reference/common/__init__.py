"""Code that network, metadata and producer share."""
