# expect: A1=finding A4=finding
import re
from pathlib import Path
from fastapi import FastAPI, HTTPException

app = FastAPI()
STORE = Path("/var/lib/notes")


@app.get("/notes/{note_id}")
async def read_note(note_id: str):
    if not re.match(r"[a-z]+", note_id):
        raise HTTPException(400)
    return (STORE / note_id).read_text()
