"""The word list that keeps the prose plain: passages of prose, rules, the baseline, and draws for a reviewer."""
