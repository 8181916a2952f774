"""Turn evidence into verdicts, and verdicts into causes. Pure."""
