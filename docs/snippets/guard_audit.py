import tempfile
from pathlib import Path

import cellwright
from cellwright.guard import audit_heads, audit_records, verify_audit


class Mail:
    def send(self, to: str, password: str) -> str:
        """Send a mail."""
        return f"sent to {to}"


# shown:
async def main(place: Path) -> None:
    async with cellwright.Runtime({"mail": Mail()}, audit=place, user="kari") as rt:
        await rt.execute("mail.send('ann@firm.example', password='hunter2')")


def look(place: Path) -> None:
    for line in audit_records(place):
        print(line["n"], line["event"], line.get("operation", ""), line.get("arguments", ""), line.get("result", ""))
    heads = audit_heads(place)  # keep these elsewhere
    (file,) = place.iterdir()
    file.write_text(file.read_text().replace("'ann@", "'eve@"))
    for finding in verify_audit(place, heads):
        print(finding.kind, finding.text)


# end
with tempfile.TemporaryDirectory() as directory:
    cellwright.run(main(Path(directory)))
    look(Path(directory))
