from replies import model

import cellwright
from cellwright.agent import Agent
from cellwright.agent.patterns import improve

# shown:
writer = Agent(model("done('Tea is served.')", "done(given[:-1] + ' at five.')"))
JUDGE = "done(Verdict(good='five' in given, advice='' if 'five' in given else 'Say when.'))"
judge = Agent(model(JUDGE, JUDGE), instructions="A notice says what, and when.")
# end


async def main() -> None:
    # shown:
    improved = await improve("Write a notice that tea is served at five.", writer, judge, rounds=3)
    print(improved.value, improved.verdict, improved.rounds, sep="\n")
    # end


cellwright.run(main())
