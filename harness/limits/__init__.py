"""The limits for a client, a stored file and a trial, and the meters that enforce them."""
