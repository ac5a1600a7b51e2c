flow = prefect.flows.create(name="interop", tags=["first"])
assert flow.name == "interop" and flow["tags"] == ["first"]
assert prefect.flows.create(name="interop").id == flow.id, "a flow is made once"
assert prefect.flows.read_by_name("interop").id == flow.id
flow.update(tags=["first", "second"])
assert prefect.flows.read(flow.id).tags == ["first", "second"]

runs = [
    prefect.flow_runs.create(flow_id=flow.id, name=f"run {number}", parameters={"number": number})
    for number in range(3)
]
assert [run.parameters["number"] for run in runs] == [0, 1, 2]
said = prefect.flow_runs.set_flow_run_state(runs[0].id, state={"type": "RUNNING"})
assert said.status == "ACCEPT", said
said = prefect.flow_runs.set_flow_run_state(runs[0].id, state={"type": "COMPLETED", "message": "gut gemacht"})
assert said.state.type == "COMPLETED" and said.state.message == "gut gemacht"

ended = prefect.flow_runs.read_filter(flow_runs={"state": {"type": {"any_": ["COMPLETED"]}}})
assert [run.id for run in ended] == [runs[0].id]
named = prefect.flow_runs.read_filter(flow_runs={"name": {"like_": "run"}}, sort="NAME_DESC", limit=2)
assert [run.name for run in named] == ["run 2", "run 1"]
assert prefect.flow_runs.count(flows={"id": {"any_": [flow.id]}}) == 3

at = "2026-07-28T12:00:00Z"
prefect.logs.create(
    body=[
        {"name": "interop", "level": level, "message": f"line {level}", "timestamp": at, "flow_run_id": runs[0].id}
        for level in (20, 40)
    ]
)
logs = prefect.logs.read(logs={"flow_run_id": {"any_": [runs[0].id]}, "level": {"ge_": 30}})
assert [log.message for log in logs] == ["line 40"]

prefect.variables.create(name="answer", value={"is": [4, 2]})
assert prefect.variables.read_by_name("answer").value == {"is": [4, 2]}

runs[1].delete()
try:
    prefect.flow_runs.read(runs[1].id)
except LookupError as error:
    missing = str(error)
assert "404" in missing, missing

try:
    prefect.flow_runs.create(flow_id="no id at all")
except Exception as error:
    refused = str(error)
assert "flow_id" in refused, refused

[flow.id, [run.id for run in runs]]
