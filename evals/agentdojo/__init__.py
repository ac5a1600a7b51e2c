"""AgentDojo's four suites on the guard: each injection obeyed, and each task without one.

`suite_server` runs in an environment of its own that has AgentDojo; nothing else here imports it. `labels` says what
the tools are, `tool_scope` binds them for guest code, `cells` writes what a model would write, `episodes` runs it.
"""
