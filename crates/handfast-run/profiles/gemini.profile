# Gemini: its key, and its settings.
env GEMINI_API_KEY
env GOOGLE_CLOUD_PROJECT
read ~/.gemini/settings.json
