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
        except RequestRefused as error:
            assert "is not in network=" in str(error)


asyncio.run(main())
