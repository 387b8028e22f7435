"""A TCP flow with CUBIC, as iperf's in the interop runner: `tcp.py server|client ADDRESS`."""

import socket
import sys

PORT = 5201
CHUNK = bytes(1 << 16)

end, address = sys.argv[1:]
if end == "server":
    with socket.create_server((address, PORT)) as listener:
        flow, _ = listener.accept()
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        while True:
            flow.sendall(CHUNK)
else:
    with socket.create_connection((address, PORT)) as flow:
        while flow.recv(1 << 16):
            pass
