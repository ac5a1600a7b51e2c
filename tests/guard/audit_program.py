"""A process whose disk is full soon: files may have so many bytes, and it says what became of its calls.

python -m tests.guard.audit_program AUDIT BYTES
"""

from __future__ import annotations

import asyncio
import resource
import signal
import sys

from cellwright import Limits, Runtime

PROGRAM = "tests.guard.audit_program"
CODE = """
said = []
for i in range(20):
    try:
        said.append(crm.write('x' * 300))
    except Exception as error:
        said.append(str(error))
        break
said
"""


class Crm:
    def __init__(self) -> None:
        self.written = 0

    def write(self, text: str) -> int:
        """Write it."""
        self.written += 1
        return self.written


async def main(audit: str, most: int) -> None:
    crm = Crm()
    async with Runtime({"crm": crm}, audit=audit, limits=Limits(wall_s=60)) as rt:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        outcome = await rt.execute(CODE)
    print(crm.written, outcome.value)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
