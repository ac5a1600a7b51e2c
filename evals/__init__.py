"""Tasks with checkable answers, and what gives them to an agent: `python -m evals.run`, or `make eval-local`.

`small` holds the tasks. Nothing here is part of the package.
"""
