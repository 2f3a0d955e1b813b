"""What a user brings: sources of one's own, columns and labels of other lists, tables of candidate counterparts."""
