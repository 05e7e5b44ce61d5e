"""Decodes frames with software that is not ours, and prints them as JSON.

Usage: read_frames.py protobuf PROTO_FILE MESSAGE BASE64...
       read_frames.py cbor BASE64...
       read_frames.py integrity BASE64...
"""
import base64
import hashlib
import importlib
import json
import os
import struct
import sys
import tempfile
import zlib

kind, *rest = sys.argv[1:]


def protobuf(proto, message, *frames):
    from google.protobuf import json_format, message_factory
    from grpc_tools import protoc

    folder, file = os.path.split(proto)
    out = tempfile.mkdtemp()
    if protoc.main(["protoc", f"-I{folder}", f"--python_out={out}", file]) != 0:
        raise SystemExit("protoc refuses the file")
    sys.path.insert(0, out)
    module = importlib.import_module(file.replace(".proto", "_pb2"))
    found = message_factory.GetMessageClass(module.DESCRIPTOR.message_types_by_name[message])
    for frame in frames:
        yield json_format.MessageToDict(found.FromString(frame))


def cbor(*frames):
    import cbor2

    for frame in frames:
        yield cbor2.loads(frame)


def integrity(*frames):
    for frame in frames:
        seq, algorithm = struct.unpack(">QB", frame[:9])
        size = {1: 4, 2: 32}[algorithm]
        payload = frame[9 + size:]
        checksum = struct.pack(">I", zlib.crc32(payload)) if algorithm == 1 else hashlib.sha256(payload).digest()
        yield {"seq": seq, "valid": checksum == frame[9:9 + size], "payload": json.loads(payload)}


texts = rest[:2] if kind == "protobuf" else []
frames = [base64.b64decode(frame) for frame in rest[len(texts):]]
decode = {"protobuf": protobuf, "cbor": cbor, "integrity": integrity}[kind]
print(json.dumps(list(decode(*texts, *frames))))
