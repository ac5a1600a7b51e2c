import re
from dataclasses import dataclass

import cellwright


@dataclass
class Patient:
    full_name: str
    email: str
    overdue: float


class Clinic:
    @cellwright.operation(reads=True)
    def patients(self) -> list[Patient]:
        """All patients."""
        return [Patient("Ann Lee", "ann@lee.example", 120.5), Patient("Bo Lind", "bo@lind.example", 0.0)]

    @cellwright.operation(reads=True)
    def letter(self) -> str:
        """The last letter that came in."""
        return "This is Ann Lee. Please write to ann@lee.example."

    @cellwright.operation(may_have=["email", "name"])
    def mail(self, to: str, text: str) -> None:
        """Send a mail."""
        print("  sent:", to, "-", text)


def shown(value: object) -> str:
    """Without the marks, which are others in each session."""
    return re.sub(r"_[a-z2-7]{8}>", ">", str(value))


# shown:
async def main() -> None:
    async with cellwright.Runtime({"clinic": Clinic()}, private=True) as rt:
        for code in (
            "ann, bo = clinic.patients()\n[ann.full_name, ann.email, bo.email]",
            "clinic.letter()",
            "ann.email in clinic.letter(), ann.email == bo.email",
            "clinic.mail(ann.email, f'Dear {ann.full_name}: {ann.overdue} is overdue')",
            "clinic.mail('<EMAIL_1_aaaaaaaa>', 'a token that nobody gave')",
        ):
            print(shown((await rt.execute(code)).value))


# end

cellwright.run(main())
