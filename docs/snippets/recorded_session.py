from typing import Any


def test_the_count_of_the_stock_is_the_same(replay: Any) -> None:
    replay("sessions.db", "stock")
