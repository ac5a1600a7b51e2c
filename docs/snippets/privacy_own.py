import cellwright
from cellwright.guard import Pattern

# shown:
private = cellwright.Privacy(
    kinds=["email", "phone", "name", "badge", "place"],  # left out: all
    columns={"ward": "place", "crm.nickname": "name"},  # a column, a field, a key; or what an operation gives
    detectors=[Pattern(kind="badge", pattern=r"\bB-[0-9]{6}\b", columns=["badge_no"])],
    may_have={"mail.*": ["email"], "crm.*": True},
    answers=["name"],
)
# end


class Desk:
    @cellwright.operation(reads=True)
    def visit(self) -> dict[str, str]:
        """The last visit."""
        return {"ward": "East 7", "note": "B-123456 was seen in East 7"}


async def main() -> None:
    async with cellwright.Runtime({"desk": Desk()}, private=private) as rt:
        visit = (await rt.execute("desk.visit()")).value
        assert visit["ward"].startswith("<PLACE_1_")
        assert visit["note"].startswith("<BADGE_1_")
        assert "East" not in visit["note"]
        assert rt.reveal(visit)["ward"] == "East 7"


cellwright.run(main())
