"""What Cellwright costs, measured beside something else in the same run: `python -m benchmarks`, or `make bench`.

One module a subject, each with `measure(run) -> Iterator[Check]`; `peers` is the same few tasks for other people's
executors. Nothing here is part of the package.
"""
