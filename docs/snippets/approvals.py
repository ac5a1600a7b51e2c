import cellwright
from cellwright.events import ApprovalWanted


# shown:
class Mail:
    @cellwright.operation(ask=True)
    async def send(self, to: str, text: str = "") -> str:
        return f"sent to {to}"


async def approve(wanted: ApprovalWanted) -> bool | str:
    print("asked:", wanted.name + wanted.arguments)
    return True if "@firm.example" in wanted.arguments else "only inside the firm"


CODE = """
import asyncio
people = ["ann@firm.example", "eve@elsewhere.example"]
found = await asyncio.gather(*map(mail.send, people), return_exceptions=True)
[str(one) for one in found]
"""
# end


async def main() -> None:
    async with cellwright.Runtime(scope={"mail": Mail()}, approve=approve) as rt:
        print((await rt.execute(CODE)).value)
    async with cellwright.Runtime(scope={"mail": Mail()}) as rt:
        print(str((await rt.execute("await mail.send('ann@firm.example')")).error).splitlines()[-1])


cellwright.run(main())
