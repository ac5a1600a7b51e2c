import asyncio

import httpx

import cellwright
from cellwright.errors import RequestRefused

# shown:
client = cellwright.allow_hosts(httpx.AsyncClient(trust_env=False), ["api.example.com"])
# end


async def main() -> None:
    async with client:
        try:
            await client.get("https://other.example.com/")
        except RequestRefused:
            return
    raise AssertionError("the list has no such host")


asyncio.run(main())
