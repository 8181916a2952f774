"""Checks of the client's reports against the log. They judge any client."""
