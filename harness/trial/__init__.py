"""What a live and a simulated trial have in common."""
