"""The consumer: subscriptions, groups, fetching."""
