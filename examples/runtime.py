import sqlite3

import cellwright

db = sqlite3.connect(":memory:", check_same_thread=False)
db.executescript("create table sales (item, price); insert into sales values ('tea', 3), ('scones', 4)")


async def main() -> None:
    async with cellwright.Runtime(scope={"db": db}) as rt:
        for code in (
            "rows = db.execute('select item, price from sales').fetchall()",
            "max(rows, key=lambda row: row[1])",
            "open('/etc/shadow')",
        ):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


cellwright.run(main())
