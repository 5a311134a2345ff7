# Codex: its key, and its settings.
env OPENAI_API_KEY
env OPENAI_BASE_URL
read ~/.codex/config.toml
