"""Install what a run needs: Java, Kafka's jars, Toxiproxy, and the clients' programs and environments.

Everything is fetched by the ordinary package clients (Ivy, Go, uv, apt) with their own settings. This package contains
no registry's address. ``python -m harness.provision`` fetches what is missing.
"""
