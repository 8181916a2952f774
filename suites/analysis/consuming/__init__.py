"""What the histories of a group's members say: which partitions they owned, what they processed and committed."""
