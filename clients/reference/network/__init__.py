"""Connections, requests and responses: Kafka's NetworkClient and its parts."""
