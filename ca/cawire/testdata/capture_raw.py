"""Sends hand-made requests, each case on a circuit of its own, to record what a real server answers."""
import socket
import struct
import sys

PORT = int(sys.argv[1])


def msg(cmd, payload=b"", type=0, count=0, p1=0, p2=0, size=None):
    payload += b"\0" * (-len(payload) % 8)
    return struct.pack(">HHHHII", cmd, len(payload) if size is None else size, type, count, p1, p2) + payload


def hello(minor=13):
    return msg(0, type=0, count=minor) + msg(20, b"user\0") + msg(21, b"host\0")


def create(name, cid, minor=13):
    return msg(18, name.encode() + b"\0", p1=cid, p2=minor)


def read(sock, quiet=0.25):
    sock.settimeout(quiet)
    data = b""
    try:
        while piece := sock.recv(1 << 16):
            data += piece
    except TimeoutError:
        pass
    return data


def messages(data):
    while len(data) >= 16:
        cmd, size, type, count, p1, p2 = struct.unpack_from(">HHHHII", data)
        head = 16
        if size == 0xFFFF:
            size, count = struct.unpack_from(">II", data, 16)
            head = 24
        yield cmd, type, count, p1, p2
        data = data[head + size:]


def circuit(request, name=None, minor=13):
    """Says hello, creates the channel, then sends request(sid)."""
    with socket.create_connection(("127.0.0.1", PORT)) as sock:
        sock.sendall(hello(minor))
        sid = 0
        if name:
            sock.sendall(create(name, 5, minor))
            sid = next((p2 for cmd, _, _, _, p2 in messages(read(sock)) if cmd == 18), 0)
        sock.sendall(request(sid))
        read(sock)


MASK = struct.pack(">fffHH", 0, 0, 0, 15, 0)

circuit(lambda sid: msg(23) + msg(23, b"a payload", type=1, count=2, p1=3, p2=4) + msg(10))
circuit(lambda sid: msg(8) + msg(9))
circuit(lambda sid: create("CAP:missing", 9) + msg(18, b"", p1=10, p2=13))
circuit(lambda sid: msg(3, type=0, count=1, p1=sid, p2=7) + msg(3, type=20, count=1, p1=sid, p2=8), "CAP:ai")
circuit(lambda sid: msg(3, type=37, count=1, p1=sid, p2=7) + msg(15, type=38, count=1, p1=sid, p2=8), "CAP:ai")
circuit(lambda sid: msg(3, type=0, count=1, p1=sid, p2=7) + msg(3, type=0, count=3, p1=sid, p2=8), "CAP:wstring")
circuit(lambda sid: msg(4, struct.pack(">H", 1), type=35, count=1, p1=sid, p2=7)
        + msg(4, struct.pack(">H", 2), type=36, count=1, p1=sid, p2=8), "CAP:ai")
circuit(lambda sid: msg(15, type=35, count=1, p1=sid, p2=7) + msg(15, type=36, count=1, p1=sid, p2=8), "CAP:ai")
circuit(lambda sid: msg(15, type=39, count=1, p1=sid, p2=7), "CAP:ai")
circuit(lambda sid: msg(3, type=39, count=1, p1=sid, p2=7), "CAP:ai")
circuit(lambda sid: msg(4, b"\0" * 8, type=39, count=1, p1=sid, p2=7), "CAP:ai")
circuit(lambda sid: msg(19, b"\0" * 8, type=39, count=1, p1=sid, p2=7), "CAP:ai")
circuit(lambda sid: msg(19, b"\0" * 16, type=13, count=1, p1=sid, p2=7), "CAP:ao")
circuit(lambda sid: msg(19, b"not a number\0", type=0, count=1, p1=sid, p2=7), "CAP:ao")
circuit(lambda sid: msg(4, b"not a number\0", type=0, count=1, p1=sid, p2=7), "CAP:ao")
circuit(lambda sid: msg(1, MASK, type=20, count=0, p1=sid, p2=77) + msg(2, type=20, count=0, p1=sid, p2=77)
        + msg(2, type=20, count=0, p1=sid, p2=77), "CAP:ai")
circuit(lambda sid: msg(1, MASK, type=6, count=0, p1=sid, p2=78) + msg(12, p1=sid, p2=5), "CAP:wdouble")
circuit(lambda sid: msg(15, type=20, count=1, p1=987654, p2=7), "CAP:ai")
circuit(lambda sid: msg(12, p1=sid, p2=5) + msg(12, p1=sid, p2=5), "CAP:ai")
circuit(lambda sid: msg(4, b"\0" * 13, type=6, count=1, p1=sid, p2=7, size=13), "CAP:ai")
circuit(lambda sid: msg(40))
circuit(lambda sid: msg(25))
circuit(lambda sid: msg(15, type=6, count=1, p1=sid, p2=7) + msg(15, type=6, count=0, p1=sid, p2=8), "CAP:ai", 4)
circuit(lambda sid: msg(15, type=6, count=20000, p1=sid, p2=7) + msg(15, type=6, count=3, p1=sid, p2=8), "CAP:wbig", 8)
circuit(lambda sid: msg(15, type=6, count=0, p1=sid, p2=7) + msg(15, type=6, count=1, p1=sid, p2=8), "CAP:ai", 11)
circuit(lambda sid: msg(15, type=6, count=0, p1=sid, p2=7) + msg(15, type=6, count=1, p1=sid, p2=8), "CAP:ai", 12)
circuit(lambda sid: create("CAP:ai", 6, 3), minor=3)
circuit(lambda sid: msg(6, b"CAP:ai\0", type=10, count=13, p1=1, p2=1)
        + msg(6, b"CAP:missing\0", type=10, count=13, p1=2, p2=2) + msg(6, b"CAP:missing\0", type=5, count=13, p1=3, p2=3))


def datagram(data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.3)
        sock.sendto(data, ("127.0.0.1", PORT))
        try:
            sock.recv(65536)
        except TimeoutError:
            pass


search = msg(6, b"CAP:ai\0", type=5, count=13, p1=1, p2=1)
datagram(msg(0, type=1, count=13, p1=99) + search + msg(6, b"CAP:ao\0", type=5, count=13, p1=2, p2=2))
datagram(msg(0, type=0, count=10, p1=0) + search)
datagram(search)
datagram(msg(0, type=1, count=13, p1=100) + msg(6, b"CAP:missing\0", type=10, count=13, p1=3, p2=3))
