from cellwright.models import DEFAULTS, default_model
from cellwright.settings import Settings

for keys in ({}, {"GEMINI_API_KEY": "…"}, {"OPENAI_API_KEY": "…", "ANTHROPIC_API_KEY": "…"}):
    settings = Settings.from_environment({"HOME": "/home/ada", **keys})
    print(default_model(settings).why)
print(", ".join(DEFAULTS))
