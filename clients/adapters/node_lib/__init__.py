"""What Node clients share on their side of the contract; ``verifiable/`` is copied beside their programs."""
