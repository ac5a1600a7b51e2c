from typing import Any

import cellwright
from cellwright.errors import ModelBusy
from cellwright.messages import Traits
from cellwright.testing import ScriptedModel, call, code, fenced


# shown:
async def test_the_report_is_written_when_the_model_comes_back() -> None:
    model = ScriptedModel(ModelBusy("overloaded", retry_after_s=0), code("done(stock('tea'))", say="I look it up."))
    result = await cellwright.Agent(model, scope={"stock": {"tea": 12}.get}).run("How much tea is there?", returns=int)
    assert result.value == 12
    assert [tool.name for tool in model.requests[-1].tools] == ["execute"]
    assert not model.left  # every reply was asked for


# end


async def test_small_models_write_fences_and_others_may_call_functions() -> None:
    small = ScriptedModel(fenced("done(1 + 1)"), traits=Traits(calls=False, window=8_192))
    assert (await cellwright.Agent(small).run("1 + 1?", returns=int)).value == 2
    calling: Any = ScriptedModel([call("stock", item="tea"), call("stock", item="ink")], "12 and 3.")
    agent = cellwright.Agent(calling, scope={"stock": stock}, mode="direct")
    assert (await agent.run("How much tea and ink?")).value == "12 and 3."


async def stock(item: str) -> int:
    """How many are left."""
    return {"tea": 12, "ink": 3}[item]


if __name__ == "__main__":  # pytest runs them too
    cellwright.run(test_the_report_is_written_when_the_model_comes_back())
    cellwright.run(test_small_models_write_fences_and_others_may_call_functions())
    print("2 passed")
