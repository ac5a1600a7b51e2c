"""Names whose pickling forks, prints, asks the host, sends frames, and never ends.

Escape: a host that waits for a state for ever, or takes what is none
Control: the names are there
Uses: raw
Journal: yes
Limits: wall_s=4
Idle: 1
"""


# control
class Plain:
    pass


plain = Plain()
True


# attack
class Slow:
    def __reduce__(self):
        while True:
            send(["p", ["slow"] * 900], b"a state of my own making")
            vault.echo(1)


class Loud:
    def __reduce__(self):
        print("x" * 100_000)
        return (vault.fail, ())


one, two = Slow(), Loud()
for number in range(3):
    vault.echo(number)
time.sleep(0.5)
