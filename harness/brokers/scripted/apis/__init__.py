"""One API per module. Each has ``handle(state, request)``, which returns an Answer or raises Closed."""
