"""What the converters of all providers share."""
