"""Checks of clients that consume: what members sent to their brokers, and what they did about the answers."""
