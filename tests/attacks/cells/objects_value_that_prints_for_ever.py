"""Makes the cell's value an object whose text never ends.

Escape: the host waits beyond the cell's time
Control: a value with an ordinary text is told
Limits: wall_s=2
Expect: TimeLimit
"""

# control
repr(type("Fine", (), {"__repr__": lambda self: "fine"})()) == "fine"


# attack
class Endless:
    def __repr__(self):
        while True:
            pass


Endless()
