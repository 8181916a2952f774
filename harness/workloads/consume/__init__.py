"""The consume workload: the harness writes records, and a group of client processes reads them."""
