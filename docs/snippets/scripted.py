"""A model of one's own for `cellwright run --model scripted:model`: it says what it was told to."""

from cellwright.testing import ScriptedModel, code

model = ScriptedModel(
    code("left = stock.take('tea', 5)\nprint('left:', left)"),
    code("done({'tea': left})"),
)
