# expect: D1=finding
from pathlib import Path
from fastapi import FastAPI, UploadFile

app = FastAPI()
ROOT = Path("/srv/jobs")


def target_for(tenant: str, name: str) -> Path:
    path = ROOT / tenant / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@app.post("/upload/{tenant}")
async def upload(tenant: str, file: UploadFile):
    target = target_for(tenant, file.filename)
    target.write_bytes(await file.read())
    return "ok"
