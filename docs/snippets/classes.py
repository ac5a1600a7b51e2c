from dataclasses import dataclass

import cellwright


# shown:
@dataclass
class Booking:
    room: str
    nights: int


class Hotel:
    def book(self, booking: Booking) -> str:  # a parameter of this type lets the guest build it
        return f"{booking.room} for {booking.nights}"


async def main() -> None:
    async with cellwright.Runtime(scope={"hotel": Hotel(), "Booking": Booking}) as rt:
        for code in (
            "hotel.book(Booking('attic', nights=2))",
            "Booking('attic', nights='two')",
            "isinstance(Booking('attic', 2), Booking)",
        ):
            outcome = await rt.execute(code)
            print(outcome.value if outcome.ok else str(outcome.error).splitlines()[-1])


# end


cellwright.run(main())
