"""Checks the identity vectors with nothing but the protobuf runtime and hashlib. See ../README.md.

The last line printed is "N passed, N failed"; the exit code is 1 if any failed.
"""

import hashlib
import json
import pathlib
import re
import sys
import unicodedata

from google.protobuf import json_format

from transcript.v1 import message_pb2, node_pb2

TESTDATA = pathlib.Path(__file__).resolve().parent.parent


def salted(domain, salt, content):
    return hashlib.sha256(domain + b"\0" + bytes([len(salt)]) + salt + content).digest()


def expand(vector):
    """The messages of a vector, its recipe carried out."""
    messages = [json_format.ParseDict(m, message_pb2.Message()) for m in vector["messages"]]
    for fill in vector.get("fill", []):
        part, content = messages[fill["message"]].parts[fill["part"]], fill["unit"] * fill["times"]
        if fill.get("opaque"):
            part.opaque.data = content.encode("utf-8")
        else:
            part.text = content
    for message in messages:
        parts = list(message.parts)
        for _ in range(vector.get("part_copies", 1) - 1):
            message.parts.extend(parts)
    return messages * vector.get("message_copies", 1)


def metadata_of(vector):
    """The metadata, sorted by the bytes of the keys, encoded; empty without any."""
    entries = sorted(vector.get("metadata", []), key=lambda e: e["key"].encode("utf-8"))
    entries = [node_pb2.MetadataEntry(key=e["key"], value=e["value"]) for e in entries]
    return node_pb2.Metadata(entries=entries).SerializeToString()


def compute(vector):
    """What the vector's members must be, by this runtime."""
    salt = bytes.fromhex(vector.get("salt", ""))
    payload = node_pb2.Payload(messages=expand(vector)).SerializeToString()
    envelope = node_pb2.NodeEnvelope(
        payload_digest=salted(b"transcript.payload.v1", salt, payload),
        parent=bytes.fromhex(vector.get("parent", "")),
        covers_through=bytes.fromhex(vector.get("covers_through", "")),
    )
    metadata = metadata_of(vector)
    if metadata:
        envelope.metadata_digest = salted(b"transcript.metadata.v1", salt, metadata)
    if "spawned_from" in vector:
        spawned = vector["spawned_from"]
        envelope.spawned_from.node = bytes.fromhex(spawned["node"])
        if "tool_call_id" in spawned:
            envelope.spawned_from.tool_call_id = spawned["tool_call_id"]
    encoded = envelope.SerializeToString()
    return {
        "payload_hex": payload.hex(),
        "payload_length": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
        "payload_digest": envelope.payload_digest.hex(),
        "metadata_hex": metadata.hex(),
        "metadata_digest": envelope.metadata_digest.hex(),
        "envelope_hex": encoded.hex(),
        "node_id": hashlib.sha256(b"transcript.node.v1\0" + encoded).hexdigest(),
    }


def faults(vector):
    """The members of the vector that this runtime computes otherwise."""
    got = compute(vector)
    wrong = [k for k, v in got.items() if k in vector and vector[k] != v]
    if "node_id" not in vector:
        wrong.append("node_id")
    for member in ("payload_hex", "wire_hex"):
        if member not in vector:
            continue
        read = node_pb2.Payload.FromString(bytes.fromhex(vector[member]))
        if read.SerializeToString().hex() != got["payload_hex"]:
            wrong.append(member + ", read and written again")
    return wrong


def message_alias(message_id):
    """The alias of a message; control characters are those of Unicode's category Cc."""
    alias = "msg/" + message_id
    control = any(unicodedata.category(c) == "Cc" for c in message_id)
    if len(alias.encode()) <= 512 and not control and not message_id.startswith("sha256:"):
        return alias
    return "msg/sha256:" + hashlib.sha256(message_id.encode()).hexdigest()


def names():
    """How many cases of names.json hold, and how many do not."""
    cases = json.loads((TESTDATA / "names.json").read_text(encoding="utf-8"))
    print(f"names.json: {len(cases)} vectors")
    wrong = [c["name"] for c in cases if message_alias(c["message_id"]) != c["alias"]]
    for name in wrong:
        print(f"names.json: {name}")
    return len(cases) - len(wrong), len(wrong)


def line(case):
    """The line of a result."""
    tool, call = case.get("tool", "-"), case.get("tool_call_id", "-")
    place = f"{case['node_id'][:12]}.{case['message_index']}"
    return f"[result of {tool}, {case['bytes']} bytes, left out; recall {call} {place}]"


def cut(case):
    """Texts of a message cut to so many code points."""
    shown, left = [], case["limit"]
    for text in case["texts"]:
        if len(text) > left:
            return shown + [text[:left] + "...[truncated]"]
        shown, left = shown + [text], left - len(text)
    return shown


def is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def shorten(text):
    """Arguments whose long string values are replaced by marks, where that saves 200 bytes."""
    if not is_object(text):
        short = json.dumps({"left_out": f"{len(text.encode())} bytes"})
    else:
        # A member's name has a colon behind it.
        value = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
        long = lambda m: not m[2] and len(m[1].encode()) > 200
        mark = lambda m: f'"[{len(m[1].encode())} bytes left out]"' if long(m) else m[0]
        short = value.sub(mark, text)
    return short if len(text.encode()) - len(short.encode()) >= 200 else text


def texts():
    """How many cases of texts.json hold, and how many do not."""
    cases = json.loads((TESTDATA / "texts.json").read_text(encoding="utf-8"))
    checks = [("left_out", c["text"] == f"[{c['run_loops']} earlier turns are not shown]") for c in cases["left_out"]]
    checks += [(c["name"], c["text"] == line(c)) for c in cases["line"]]
    checks += [(c["name"], c["shortened"] == shorten(c["given"])) for c in cases["arguments"]]
    checks += [(c["name"], c["shown"] == cut(c)) for c in cases["cut"]]
    checks += [("depth", c["reply"] == f"[depth:{c['depth']}] {c['text']}") for c in cases["depth"]]
    print(f"texts.json: {len(checks)} cases")
    wrong = [name for name, holds in checks if not holds]
    for name in wrong:
        print(f"texts.json: {name}")
    return len(checks) - len(wrong), len(wrong)


def main():
    passed, failed = names()
    more_passed, more_failed = texts()
    passed, failed = passed + more_passed, failed + more_failed
    for name in ("vectors.json", "openai.json", "anthropic.json"):
        path = TESTDATA / name
        if not path.exists():
            print(f"{name}: not there")
            continue
        vectors = json.loads(path.read_text(encoding="utf-8"))
        print(f"{name}: {len(vectors)} vectors")
        for vector in vectors:
            wrong = faults(vector)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"{name}: {vector['name']}: {', '.join(wrong)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
