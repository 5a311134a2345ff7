# Claude Code: its key, and its settings. What it writes there is lost at the end of the run.
env ANTHROPIC_API_KEY
env ANTHROPIC_BASE_URL
read ~/.claude/settings.json
read ~/.claude/CLAUDE.md
