"""Checks of producers' transactions, by the log's markers, the client's reports and its requests."""
