import cellwright
from cellwright.errors import CodeError


# shown:
class NoSuchBook(LookupError):
    def __init__(self, title: str) -> None:
        super().__init__(f"no book is called {title!r}")
        self.title = title


def price(title: str, currency: str = "EUR") -> int:
    raise NoSuchBook(title)


# end


async def main() -> None:
    async with cellwright.Runtime(scope={"price": price}) as rt:
        # shown:
        caught = await rt.execute("""
            try:
                price("Emma")
            except LookupError as error:       # the host's class, rebuilt with its bases
                print(type(error).__name__, error.title, error)
        """)
        print(caught.stdout, end="")
        print(str((await rt.execute("price(name='Emma')")).error).splitlines()[-1])
        # end
        failed = await rt.execute("pages = 320\nperday = pages / (len('ab') - 2)")
        error = failed.error
        assert isinstance(error, CodeError)
        print(type(error).__name__, error.type, error.line)
        print(error)


cellwright.run(main())
