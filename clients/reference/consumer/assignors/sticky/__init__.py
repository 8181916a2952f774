"""The two assignors that keep partitions where they are: sticky and cooperative-sticky."""
