"""Names files of the host as time zones.

Escape: the host opens them, or tells whether they are there
Control: a real zone crosses
Uses: raw
Expect: ProtocolError
"""

# control
import datetime

moment = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
vault.echo(moment) == moment

# attack
zone = "../../../../" + places["closed_file"].lstrip("/")
send(call("call", VAULT, "echo", {"t": [{"x": ["datetime", "2024-01-01T00:00:00", zone, 0]}]}))
wait_for_the_end()
