"""Objects for `cellwright exec --scope live:stock`."""


class Stock:
    """What is on the shelves."""

    def __init__(self) -> None:
        self._count = {"tea": 12, "scones": 3}

    def take(self, item: str, count: int = 1) -> int:
        """Take some; gives how many are left."""
        self._count[item] -= count
        return self._count[item]


stock = Stock()
