"""Captures as tshark reads them, with the keys that the endpoints left."""

from collections import namedtuple

from testbed import SERVER, SERVER6, output

INITIAL, ZERO_RTT, HANDSHAKE, RETRY = "0", "1", "2", "3"
FIELDS = {
    "time": "frame.time_epoch",
    "source": "ip.src",
    "source6": "ipv6.src",
    "target": "ip.dst",
    "target6": "ipv6.dst",
    "port": "udp.srcport",
    "target_port": "udp.dstport",
    "length": "udp.length",
    "payload": "udp.payload",
    "form": "quic.header_form",
    "types": "quic.long.packet_type",
    "version": "quic.version",
    "scid": "quic.scid",
    "dcid": "quic.dcid",
    "token": "quic.token",
    "retry_token": "quic.retry_token",
    "key_phase": "quic.key_phase",
    "crypto_offset": "quic.crypto.offset",
    "crypto_length": "quic.crypto.length",
    "challenge": "quic.path_challenge.data",
    "response": "quic.path_response.data",
    "messages": "tls.handshake.type",
    "suites": "tls.handshake.ciphersuite",
    "streams": "tls.quic.parameter.initial_max_streams_bidi",
}
# One UDP datagram: lists, as several QUIC packets may share it.
Datagram = namedtuple("Datagram", FIELDS)


def read(capture, keys):
    """All datagrams of a capture. `keys`: files with TLS secrets, of either end. Those that
    an ICMP message quotes, when they came too late for their receiver, are none."""
    command = ["tshark", "-r", capture, "-d", "udp.port==443,quic", "-T", "fields"]
    command += ["-Y", "quic and not icmp and not icmpv6"]
    command += ["-E", "occurrence=a", "-E", "aggregator=;", "-E", "separator=/t"]
    for path in keys:
        command += ["-o", f"tls.keylog_file:{path}"]
    for field in FIELDS.values():
        command += ["-e", field]
    rows = (line.split("\t") for line in output(*command).splitlines())
    return [Datagram(*([x for x in cell.split(";") if x] for cell in row)) for row in rows]


def from_server(datagram):
    """Which way it went."""
    return (datagram.source + datagram.source6)[0] in (SERVER, SERVER6)


def size(datagram):
    """Bytes of UDP payload."""
    return int(datagram.length[0]) - 8


def when(datagram):
    """Seconds since 1970."""
    return float(datagram.time[0])


def is_one_rtt(datagram):
    """Whether it has packets with short headers alone."""
    return not datagram.types


def handshakes(datagrams):
    """How many there were: servers keep their connection ID while it lasts."""
    ids = set()
    for datagram in filter(from_server, datagrams):
        ids |= {i for t, i in zip(datagram.types, datagram.scid) if t == INITIAL}
    return len(ids)
