"""What Python clients share on their side of the contract; its folder is put on their path, not this package."""
