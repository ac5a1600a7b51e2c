import cellwright
from cellwright import errors

# shown:
CELLS = [
    "kept = 1",
    "hoard = bytearray(10**9)",  # Python itself raises MemoryError: the interpreter lives on
    "kept",
    "while True: pass",  # this one has to be killed
    "kept",
    "import subprocess; subprocess.run(['ls'])",
]
# end


async def main() -> None:
    # shown:
    limits = cellwright.Limits(wall_s=0.5, memory_mb=64)
    async with cellwright.Runtime(limits=limits) as rt:
        # end
        for code in CELLS:
            outcome = await rt.execute(code)
            error = outcome.error
            if isinstance(error, errors.LimitExceeded):
                print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
            else:
                print(outcome.value if outcome.ok else str(error).splitlines()[-1])


cellwright.run(main())
