# expect: A4=yes B3=yes
from pathlib import Path
from fastapi import FastAPI, HTTPException

app = FastAPI()
BASE = Path("/srv/share").resolve(strict=True)


@app.get("/files/{name:path}")
def read_file(name: str):
    target = (BASE / name).resolve()
    if not target.is_relative_to(BASE):
        raise HTTPException(status_code=404)
    return target.read_bytes()
