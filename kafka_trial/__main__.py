"""``python -m kafka_trial``: the command line."""

from harness.cli.start import main

main()
