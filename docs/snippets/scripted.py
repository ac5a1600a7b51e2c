"""A model of one's own for `toolwright run --model scripted:model`: it says what it was told to."""

from toolwright.testing import ScriptedModel, code

model = ScriptedModel(
    code("left = stock.take('tea', 5)\nprint('left:', left)"),
    code("done({'tea': left})"),
)
