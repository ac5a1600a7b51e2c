import cellwright
from cellwright.errors import ModelBusy
from cellwright.models import Budget, Budgeted, Cached, Fallback, MemoryCache, Retrying, Spending
from cellwright.testing import ScriptedModel, code


async def main() -> None:
    # stand-ins for open_model("anthropic:…") and open_model("openai:…")
    first = ScriptedModel(*[ModelBusy("overloaded", retry_after_s=0)] * 2, name="first")
    second = ScriptedModel(code("done(6 * 7)"), name="second")

    # shown:
    spending = Spending(Budget(tokens=50_000, requests=100))  # for all that is asked through this door
    patient = Retrying(first, attempts=2, on_retry=lambda error, delay_s: print("again:", error))
    either = Fallback(patient, second, on_fall=lambda model, error, other: print(f"{error}: now {other.name}"))
    cached = Cached(either, MemoryCache())
    model = Budgeted(cached, spending)

    for _ in range(2):
        result = await cellwright.Agent(model).run("What is six times seven?", returns=int)
        print(result.value, result.usage.requests, spending.usage.requests, cached.hits)
    # end


cellwright.run(main())
