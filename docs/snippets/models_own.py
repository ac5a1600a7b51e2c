import asyncio

import cellwright
from cellwright.doors import Reply, Request
from cellwright.errors import ModelBusy
from cellwright.messages import AssistantMessage, OnPiece, Piece, Traits, Usage, UserMessage


# shown:
class Shell:
    """A language model that is a program: the conversation goes to its stdin, its reply comes from its stdout."""

    name = "shell"
    traits = Traits(calls=False, window=8_000)  # it takes no tools: its fenced code is read

    def __init__(self, *command: str) -> None:
        self._command = command

    async def request(self, request: Request, on_piece: OnPiece | None = None) -> Reply:
        said = [message.text for message in request.messages if isinstance(message, UserMessage | AssistantMessage)]
        pipe = asyncio.subprocess.PIPE
        program = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe)
        out, _ = await program.communicate("\n\n".join([request.instructions, *said]).encode())
        if program.returncode:
            raise ModelBusy(f"{self._command[0]} ended with {program.returncode}")  # or ModelRefused: never ask again
        if on_piece is not None:
            on_piece(Piece(text=out.decode()))
        return Reply(message=AssistantMessage(text=out.decode()), usage=Usage(requests=1, cost=None), model=self.name)

    async def close(self) -> None: ...


# end


async def main() -> None:
    model = Shell("echo", "```python\ndone(6 * 7)\n```")
    print((await cellwright.Agent(model).run("What is six times seven?", returns=int)).value)


cellwright.run(main())
