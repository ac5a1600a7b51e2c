import cellwright
from cellwright import errors

CELLS = [
    "kept = 1",
    "hoard = bytearray(10**9)",  # Python itself raises MemoryError: the interpreter lives on
    "kept",
    "while True: pass",  # this one has to be killed
    "kept",
    "import subprocess; subprocess.run(['ls'])",
]


async def main() -> None:
    limits = cellwright.Limits(wall_s=0.5, memory_mb=64)
    async with cellwright.Runtime(limits=limits) as rt:
        for code in CELLS:
            outcome = await rt.execute(code)
            error = outcome.error
            if isinstance(error, errors.LimitExceeded):
                print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            else:
                print(outcome.value if outcome.ok else str(error).splitlines()[-1])


cellwright.run(main())
