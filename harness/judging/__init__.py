"""From evidence to verdicts, and from verdicts to causes. Pure."""
