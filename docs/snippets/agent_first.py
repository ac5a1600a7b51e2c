from dataclasses import dataclass

from replies import model

import cellwright


@dataclass
class Contact:
    name: str
    city: str
    deals: int


class Crm:
    """Contacts of a small company, and letters to them."""

    def __init__(self) -> None:
        self.letters: list[str] = []

    def contacts(self, city: str | None = None) -> list[Contact]:
        """Contacts of one city, or all."""
        everybody = [Contact("Ada", "Oslo", 2), Contact("Bo", "Oslo", 0), Contact("Cy", "Rome", 0)]
        return [contact for contact in everybody if city in (None, contact.city)]

    async def write(self, name: str, text: str) -> int:
        """Send a letter. Gives its number."""
        self.letters.append(f"{name}: {text}")
        return len(self.letters)


# shown:
REPLIES = model(
    "idle = [c for c in crm.contacts(city='Oslo') if not c.deals]\nidle",
    "for c in idle:\n    await crm.write(c.name, 'How are you?')\ndone([c.name for c in idle])",
)


async def main() -> None:
    crm = Crm()
    agent = cellwright.Agent(REPLIES, scope={"crm": crm})  # in its place: "anthropic:claude-sonnet-5-5", "local", …
    result = await agent.run("Write to everybody in Oslo who has no deal. Whom?", returns=list[str])
    print(result.value, "in", result.steps, "steps")
    print(crm.letters)


# end


if __name__ == "__main__":
    cellwright.run(main())
