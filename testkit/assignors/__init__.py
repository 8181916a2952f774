"""Random groups, whose assignments are compared with those of Java's assignors."""
