"""The soak itself: what it counts as lost or doubled, and a short run of it, so that it does not rot."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.cells import PATIENT
from tests.journal.crash.desk import Effects
from tests.soak.__main__ import FLAT
from tests.soak.cells import SessionModel, SoakDesk, ledger_faults, random_cell

from cellwright import Runtime
from cellwright.store import SqliteStore


@pytest.mark.usefixtures("warm")
async def test_an_effect_that_is_lost_or_doubled_is_found(tmp_path: Path) -> None:
    desk, model = SoakDesk(Effects(tmp_path / "effects")), SessionModel(id="s", strict=False, length=9)
    rng, once = random.Random(7), list[str]()
    async with Runtime({"desk": desk}, store=tmp_path / "s.db", session="s", limits=PATIENT) as rt:
        while len(model.once) < 3 or not model.undone:
            cell = random_cell(model, rng)
            if "pay" not in cell.code:
                model.took(cell, (await rt.execute(cell.code)).value)
        assert (await rt.execute(model.look())).unwrap() == [model.names, model.files]
    with closing(SqliteStore(tmp_path / "s.db")) as store:
        assert ledger_faults([model], desk, store) == []
        lines = desk.effects.path.read_text().splitlines()
        desk.effects.path.write_text("\n".join([*lines, lines[-1]]))
        assert any("happened 2 times" in fault for fault in ledger_faults([model], desk, store))
        desk.effects.path.write_text("\n".join(line for line in lines if f'"{model.once[0]}"' not in line))
        once = ledger_faults([model], desk, store)
        assert f"{model.once[0]}: lost" in once
        assert f"{model.once[0]}: the journal says done, and it did not happen" in once


@pytest.mark.slow
def test_a_short_soak_loses_no_effect_and_tells_what_it_found(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--minutes", "0.25", "--sessions", "10", "--json"],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"CELLWRIGHT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    verdicts = {verdict["what"]: verdict for verdict in json.loads(done.stdout)}
    assert verdicts["effects lost or doubled"]["ok"], done
    assert not FLAT.keys() - verdicts.keys()
    assert not list(tmp_path.glob("soak-*"))
