"""How the things that a run needs get here: Java, Kafka's jars, Toxiproxy, a Python environment for a client.

All are fetched by the ordinary package clients (Ivy, Go, uv, apt) under their own settings: no registry's address
stands in this package. ``python -m harness.provision`` fetches what is missing.
"""
