"""How much a client, a stored file and a trial may take, and who counts it."""
