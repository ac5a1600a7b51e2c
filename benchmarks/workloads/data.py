"""Small jobs for numpy, pandas and polars. Its text is run as a cell and as a program; first runs are not timed."""

import time

import numpy as np
import pandas as pd
import polars as pl


def arrays(size):
    a = np.random.default_rng(7).random((size // 500, size // 500))
    return float(np.sort((a @ a.T).ravel())[::97].sum())


def frames(frame):
    grouped = frame.assign(total=frame.price * frame.amount).groupby("shop").total.agg(["sum", "mean"])
    return frame.merge(grouped, left_on="shop", right_index=True).sort_values("price").price.iloc[0]


def columns(frame):
    lazy = frame.lazy().with_columns(total=pl.col("price") * pl.col("amount"))
    return lazy.group_by("shop").agg(pl.col("total").sum()).sort("total").collect().height


def best(size, times):
    """The least seconds that each took."""
    rng = np.random.default_rng(7)
    table = {"shop": rng.integers(0, 300, size), "price": rng.random(size), "amount": rng.integers(1, 9, size)}
    pandas, polars = pd.DataFrame(table), pl.DataFrame(table)
    found = {}
    for name, work in (
        ("numpy", lambda: arrays(size)),
        ("pandas", lambda: frames(pandas)),
        ("polars", lambda: columns(polars)),
    ):
        took = []
        for _ in range(times + 1):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
        found[name] = min(took[1:])
    return found
