import gzip

assert everything.echo(message="grüße") == "Echo: grüße"
assert "42" in everything.get_sum(a=17, b=25)

weather = everything.get_structured_content(location="Chicago")
assert set(weather) == {"temperature", "conditions", "humidity"}, weather
assert isinstance(weather.temperature, (int, float)) and weather.conditions

environment = everything.get_env()
assert environment["PATH"]
assert "INTEROP_CANARY" not in environment, "a server must not see what the gateway's environment holds"

before, logo, after = everything.get_tiny_image()
assert logo.mime_type == "image/png" and logo.data.startswith(b"\x89PNG"), logo

message = everything.get_annotated_message(messageType="error", includeImage=True)
assert any(getattr(part, "mime_type", "") == "image/png" for part in message), message

links = everything.get_resource_links(count=3)
assert sum("resource" in str(link) for link in links) >= 3, links
assert "Resource" in str(everything.get_resource_reference(resourceType="Text", resourceId=2))

packed = everything.gzip_file_as_resource(name="words.gz", data="data:text/plain,twelve%20words", outputType="resource")
assert gzip.decompress(packed.data if hasattr(packed, "data") else packed) == b"twelve words", packed

assert "ogging" in everything.toggle_simulated_logging()
assert "ogging" in everything.toggle_simulated_logging()
assert "ubscri" in everything.toggle_subscriber_updates() or "pdates" in everything.toggle_subscriber_updates()
assert "completed" in everything.trigger_long_running_operation(duration=0.2, steps=2)

asked = everything.trigger_elicitation_request()
assert "declin" in str(asked).lower(), asked
asked = everything.trigger_url_elicitation(url="https://example.com/form")
assert "declin" in str(asked).lower(), asked

assert len(everything.resources.list()) >= 5
assert "Resource 3" in everything.resources.dynamic_text_resource(resourceId="3")
assert isinstance(everything.resources.dynamic_blob_resource(resourceId="3"), bytes)
assert "simple" in everything.prompts.simple_prompt()
assert "Oslo" in everything.prompts.args_prompt(city="Oslo")

try:
    everything.simulate_research_query(topic="tides")
except Exception as error:
    refused = str(error)
assert "requires task" in refused, refused
