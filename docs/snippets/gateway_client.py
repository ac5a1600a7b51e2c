import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters

import cellwright

# shown:
GATEWAY = ["-m", "cellwright", "gateway", "--python", "live:stock", "--dir", sys.path[0]]


async def main() -> None:
    async with Client(StdioServerParameters(command=sys.executable, args=GATEWAY)) as client:
        found = await client.call_tool("search", {"query": "take from the shelves", "limit": 1})
        print(found.content[0].model_dump()["text"])
        await client.call_tool("execute", {"code": "left = [stock.take('tea') for _ in range(3)]"})
        done = await client.call_tool("execute", {"code": "print(left)\nsum(left)"})
        print(done.structured_content)


# end


cellwright.run(main())
