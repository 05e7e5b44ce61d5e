"""Writes to raw QUIC streams with aioquic. Arguments: port, certificate, how many streams the server opens, and the bytes
of each stream of ours as a JSON list of base64 (null: the handshake only). Every stream is ended after its bytes. Prints
{"tls", "streams": [{"stream", "bytes" (base64), "reset"}]} as JSON, when all streams have ended."""
import asyncio
import base64
import json
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived, StreamReset

port, certificate, theirs, ours = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.streams = {}
        self.open = len(ours) + theirs
        self.over = asyncio.get_event_loop().create_future()
        self.alpn = None

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.alpn = event.alpn_protocol
        elif isinstance(event, StreamDataReceived):
            if event.stream_id not in self.streams and event.stream_id % 4 == 1:
                # A reader has nothing to say on a stream of frames.
                self._quic.send_stream_data(event.stream_id, b"", end_stream=True)
                self.transmit()
            self.stream(event.stream_id)["bytes"] += event.data
            if event.end_stream:
                self.end()
        elif isinstance(event, StreamReset):
            self.stream(event.stream_id)["reset"] = event.error_code
            self.end()

    def stream(self, stream):
        return self.streams.setdefault(stream, {"stream": stream, "bytes": b"", "reset": None})

    def end(self):
        self.open -= 1
        if self.open == 0:
            self.over.set_result(None)


async def main():
    settings = QuicConfiguration(
        is_client=True, alpn_protocols=["callplane/1"], cafile=certificate, server_name="localhost"
    )
    async with connect("127.0.0.1", port, configuration=settings, create_protocol=Client) as client:
        for content in ours:
            stream = client._quic.get_next_available_stream_id()
            client._quic.send_stream_data(stream, base64.b64decode(content), end_stream=True)
        client.transmit()
        await client.over
        streams = [
            {**stream, "bytes": base64.b64encode(stream["bytes"]).decode()}
            for _, stream in sorted(client.streams.items())
        ]
        print(json.dumps({"tls": client._quic.tls.state.name, "alpn": client.alpn, "streams": streams}))


asyncio.run(main())
