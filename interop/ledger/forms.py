"""The log's other forms, read by code that is not ours.

    forms.py HANDFAST LOG SCHEMA KEY OCSF

Every event fits the published JSON Schema; a DSSE envelope is signed by the log's key over DSSE's
own encoding; a receipt leads from its event to the signed root; an OCSF event fits OCSF's own JSON
Schema, as a package carries it that is not ours.
"""

import base64
import json
import pathlib
import subprocess
import sys
import tempfile

from jsonschema import Draft7Validator, Draft202012Validator
from verify import checkpoint, keys_of, sha256


def export(*arguments):
    return subprocess.run([HANDFAST, "log", *arguments], check=True, capture_output=True, timeout=60).stdout


def receipt(text, keys):
    """Follows the path from the event to the root, as in RFC 9162."""
    head, _, note = text.partition("\n\n")
    first, extra, index, *path = head.split("\n")
    assert first == "c2sp.org/tlog-proof@v1" and extra.startswith("extra ")
    _, size, root = checkpoint(note, keys)
    position, last = int(index.removeprefix("index ")), size - 1
    here = sha256(b"\0" + base64.b64decode(extra[6:]))
    assert position < size
    for line in path:
        sibling = base64.b64decode(line)
        assert last
        if position & 1 or position == last:
            here = sha256(b"\1" + sibling + here)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            here = sha256(b"\1" + here + sibling)
        position, last = position >> 1, last >> 1
    assert last == 0 and here == root


def ocsf_validator(path):
    """File System Activity, closed: an attribute that OCSF does not know is an error.

    The package takes together what all profiles require; ours are `host` and `security_control`.
    """
    definitions = json.loads(pathlib.Path(path).read_text())["$defs"]
    for name, one in definitions.items():
        # `object` is OCSF's word for anything, as under `unmapped`.
        if name != "object" and one.get("type") == "object":
            one["additionalProperties"] = False
    schema = {"$defs": definitions, **definitions["file_activity"]}
    schema.pop("$id", None)
    schema["required"] = [name for name in schema["required"] if name not in ("cloud", "osint")]
    return Draft7Validator(schema)


if __name__ == "__main__":
    HANDFAST, LOG, SCHEMA, KEY, OCSF = sys.argv[1:]
    keys = keys_of(KEY)
    schema = json.loads(pathlib.Path(SCHEMA).read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    lines = export("export", LOG, "--format", "jsonl").splitlines()
    for line in lines:
        validator.validate(json.loads(line)["event"])
    event = json.loads(lines[1])["event"]
    for bad in ({**event, "surprise": 1}, {**event, "v": 2}, {**event, "t_mono_ns": 1}, {**event, "type": "reed"}):
        assert not validator.is_valid(bad)
    envelopes = [json.loads(line) for line in export("export", LOG, "--format", "dsse").splitlines()]
    for envelope in envelopes:
        kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
        message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        (key,) = keys.values()
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), message)
        statement = json.loads(payload)
        assert statement["_type"] == "https://in-toto.io/Statement/v1" and statement["subject"]
    for index in (0, 1, 255, 256, 1998):
        receipt(export("prove", LOG, str(index)).decode(), keys)
    ocsf = [json.loads(line) for line in export("export", LOG, "--format", "ocsf").splitlines()]
    assert all(event["type_uid"] == 100100 + event["activity_id"] for event in ocsf)
    validator = ocsf_validator(OCSF)
    for event in ocsf:
        validator.validate(event)
    event = ocsf[0]
    without = {name: value for name, value in event.items() if name != "file"}
    for bad in ({**event, "surprise": 1}, without, {**event, "activity_id": 77}, {**event, "time": "now"}):
        assert not validator.is_valid(bad)
    print(f"{len(lines)} events fit the schema, {len(envelopes)} envelopes and 5 receipts hold, {len(ocsf)} OCSF events")
