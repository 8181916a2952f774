"""One API a file: each has ``handle(state, request)``, which gives an Answer or raises Closed."""
