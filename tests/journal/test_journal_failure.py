"""A journal that cannot be written: the cell ends there, and nothing runs that the journal does not know."""
