"""The interfaces of all parts that third parties can add, and the registry of installed parts."""
