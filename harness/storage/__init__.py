"""Run folders: what is written while a run goes on, and read back afterwards."""
