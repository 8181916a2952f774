"""Reading records: fetch sessions, requests and responses, buffered data, and its way to the application."""
