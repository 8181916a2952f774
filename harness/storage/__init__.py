"""Run folders: files that are written during a run and read afterwards."""
