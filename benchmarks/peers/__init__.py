"""The same few tasks for us and for other people's executors, each in a process of its own with its own packages.

A contestant is a module here that ends in `serve(…)`; `conductor` starts all of them and goes round, so that whatever
else the machine does hits everybody. `roster` names them, `cells` is the code they all run.
"""
