"""Takes a host exception apart: traceback, frames, cause, context, arguments, attributes.

Escape: a canary in any of them, a live object, a path
Control: the exception is a LookupError with its code
"""

# control
try:
    vault.fail()
except LookupError as error:
    kept = error.code == 42
kept

# attack
import traceback

loot = []
try:
    vault.fail()
except Exception as error:
    caught = error
trace = caught.__traceback__
while trace:
    loot += [repr(trace.tb_frame.f_locals)[:3000], repr(trace.tb_frame.f_code.co_filename)]
    frame = trace.tb_frame
    while frame:
        loot.append(repr(frame.f_locals)[:2000])
        frame = frame.f_back
    trace = trace.tb_next
for name in (
    "args",
    "__dict__",
    "__cause__",
    "__context__",
    "__notes__",
    "request",
    "api_key",
    "handle",
    "vault",
    "_secret",
    "filename",
):
    loot.append(repr(getattr(caught, name, None))[:2000])
loot += ["".join(traceback.format_exception(caught)), repr(caught), str(caught)]
alive = [name for name, value in vars(caught).items() if hasattr(value, "_grip")]
["ESCAPED: live objects" if alive else "held", [text for text in loot if "CANARY" in text or "/var/lib" in text]]
