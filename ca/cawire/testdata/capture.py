#!/usr/bin/env python3
"""Records Channel Access conversations between real clients and servers.

A client is pointed at this program's ports, this program passes everything on
to the real server, and writes what each side said to captures/NAME.txt. Bytes
are recorded as they were sent; only the copy that is passed to the client has
the port of a search reply replaced, so that its circuit comes through here too.

See README.md for how to run it and for the format.
"""
import asyncio
import contextlib
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
OUT = HERE / "captures"
PROXY, SERVER, BEACON, REPEATER_PROXY, REPEATER = 39064, 39164, 39165, 39265, 39365
ENV = dict(
    os.environ,
    EPICS_CA_ADDR_LIST="127.0.0.1", EPICS_CA_AUTO_ADDR_LIST="NO",
    EPICS_CAS_INTF_ADDR_LIST="127.0.0.1", EPICS_CAS_BEACON_ADDR_LIST="127.0.0.1",
    EPICS_CAS_AUTO_BEACON_ADDR_LIST="NO",
    EPICS_CA_SERVER_PORT=str(PROXY), EPICS_CA_REPEATER_PORT=str(REPEATER_PROXY),
)
SERVER_ENV = dict(ENV, EPICS_CAS_SERVER_PORT=str(SERVER), EPICS_CA_SERVER_PORT=str(SERVER),
                  EPICS_CAS_BEACON_PORT=str(BEACON), EPICS_CA_REPEATER_PORT=str(BEACON))


class Recorder:
    """The lines of one capture."""

    def __init__(self, title):
        self.lines = ["# " + line for line in title.splitlines()]

    def add(self, tag, data):
        # A run of one byte is written as BB*N, so that big arrays stay small files.
        out, at = [], 0
        for run in re.finditer(rb"(.)\1{63,}", data, re.S):
            out.append(data[at:run.start()].hex())
            out.append("%02x*%d" % (run.group()[0], len(run.group())))
            at = run.end()
        out.append(data[at:].hex())
        self.lines.append(tag + " " + " ".join(part for part in out if part))

    def write(self, name):
        OUT.mkdir(exist_ok=True)
        (OUT / (name + ".txt")).write_text("\n".join(self.lines) + "\n")
        print(name, len(self.lines), "lines")


class Proxy:
    """Passes datagrams and circuits on, and records both directions."""

    def __init__(self, rec, listen=PROXY, to=SERVER, prefix="", host="127.0.0.1"):
        self.rec, self.listen, self.to, self.prefix, self.host = rec, listen, to, prefix, host
        self.circuits = 0
        self.tasks = []

    async def __aenter__(self):
        loop = asyncio.get_running_loop()
        self.udp, _ = await loop.create_datagram_endpoint(
            lambda: ClientSide(self), local_addr=(self.host, self.listen))
        self.tcp = await asyncio.start_server(self.circuit, "127.0.0.1", self.listen)
        return self

    async def __aexit__(self, *exc):
        self.tcp.close()
        self.udp.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def circuit(self, reader, writer):
        tag = f"{self.prefix}t{self.circuits}"
        self.circuits += 1
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.close()
            return
        self.tasks.append(asyncio.create_task(self.pump(reader, up_writer, tag + ">")))
        self.tasks.append(asyncio.create_task(self.pump(up_reader, writer, tag + "<")))

    async def pump(self, reader, writer, tag):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                self.rec.add(tag, data)
                writer.write(data)
                await writer.drain()
        writer.close()


class ClientSide(asyncio.DatagramProtocol):
    """The socket that clients send to; one upstream socket per client."""

    def __init__(self, proxy):
        self.proxy, self.up = proxy, {}

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, addr):
        self.proxy.rec.add(self.proxy.prefix + "u>", data)
        asyncio.ensure_future(self.forward(data, addr))

    async def forward(self, data, addr):
        if addr not in self.up:
            # Not connected, because a repeater answers from another port, and used
            # directly, because asyncio sends no empty datagrams and libca does.
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("127.0.0.1", 0))
            sock.setblocking(False)
            self.up[addr] = sock
            await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: ServerSide(self, addr), sock=sock)
        self.up[addr].sendto(data, ("127.0.0.1", self.proxy.to))


class ServerSide(asyncio.DatagramProtocol):
    def __init__(self, client_side, addr):
        self.client_side, self.addr = client_side, addr

    def datagram_received(self, data, _):
        proxy = self.client_side.proxy
        proxy.rec.add(proxy.prefix + "u<", data)
        self.client_side.transport.sendto(replace_port(data, proxy.listen), self.addr)

    def error_received(self, exc):
        pass


def replace_port(datagram, port):
    """Sets the port in every search reply of a datagram."""
    out, at = bytearray(datagram), 0
    while at + 16 <= len(out):
        command, size = struct.unpack_from(">HH", out, at)
        if command == 6:
            struct.pack_into(">H", out, at + 4, port)
        at += 16 + size
    return bytes(out)


class Beacons(asyncio.DatagramProtocol):
    def __init__(self, rec):
        self.rec = rec

    def datagram_received(self, data, _):
        self.rec.add("b<", data)


async def run(*argv, timeout=20, env=ENV):
    # A file, not a pipe: a repeater that the client starts would keep a pipe open.
    with tempfile.TemporaryFile() as out:
        proc = await asyncio.create_subprocess_exec(
            *argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        try:
            await asyncio.wait_for(proc.wait(), timeout)
        except asyncio.TimeoutError:
            proc.terminate()
            await proc.wait()
        out.seek(0)
        text = out.read().decode(errors="replace").strip()
    if text:
        print("   ", " ".join(argv)[:70], "->", text.splitlines()[-1][:90])
    return text


@contextlib.asynccontextmanager
async def background(*argv, env=ENV):
    proc = await asyncio.create_subprocess_exec(
        *argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await asyncio.sleep(0.5)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            proc.terminate()
        await proc.wait()


@contextlib.asynccontextmanager
async def server(*argv):
    async with background(*argv, env=SERVER_ENV):
        for _ in range(200):
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", SERVER)
                writer.close()
                break
            await asyncio.sleep(0.05)
        yield


def softioc():
    return server("softIoc", "-S", "-d", str(HERE / "records.db"))


def caproto_ioc():
    return server(sys.executable, str(HERE / "capture_ioc.py"), "--interfaces", "127.0.0.1")


async def scenario(name, title, action, ioc=softioc):
    rec = Recorder(title)
    async with ioc(), Proxy(rec):
        await action()
        await asyncio.sleep(0.2)
    rec.write(name)


FORMS = [f + n for f in ("", "STS_", "TIME_", "GR_", "CTRL_")
         for n in ("STRING", "SHORT", "FLOAT", "ENUM", "CHAR", "LONG", "DOUBLE")]


async def caget_forms():
    # Each native type is asked for in its own five forms by caget's -d.
    for pv, native in (("CAP:str", "STRING"), ("CAP:wshort", "SHORT"), ("CAP:wfloat", "FLOAT"),
                       ("CAP:mbbo", "ENUM"), ("CAP:wchar", "CHAR"), ("CAP:long", "LONG"), ("CAP:ao", "DOUBLE")):
        for form in ("", "STS_", "TIME_", "GR_", "CTRL_"):
            await run("caget", "-d", "DBR_" + form + native, pv)


async def caget_converted():
    # One channel in all forms that there are, so that every conversion is seen.
    for form in FORMS + ["STSACK_STRING", "CLASS_NAME"]:
        await run("caget", "-d", "DBR_" + form, "CAP:ai")


async def caput_all():
    for args in (("CAP:ao", "10.5"), ("CAP:str", "short"), ("CAP:str", "x" * 39), ("CAP:mbbo", "one"),
                 ("-n", "CAP:mbbo", "2"), ("CAP:long", "42"), ("-a", "CAP:wshort", "3", "1", "-2", "3"),
                 ("-a", "CAP:wfloat", "2", "1.5", "-2.5"), ("-a", "CAP:wdouble", "2", "1e100", "-1e-100"),
                 ("-a", "CAP:wstring", "2", "first", "second"), ("-S", "CAP:wchar", "some characters"),
                 ("-S", "CAP:lso.VAL$", "text beyond the forty bytes of a DBR_STRING, by long string")):
        await run("caput", *args)
        await run("caput", "-c", *args)


async def cainfo_missing():
    await run("cainfo", "CAP:ai", "CAP:ai.DESC", "CAP:wbig")
    await run("cainfo", "-w", "0.5", "CAP:missing")


async def pyepics():
    await run(sys.executable, str(HERE / "capture_libca.py"))


async def name_server():
    env = dict(ENV, EPICS_CA_ADDR_LIST="", EPICS_CA_NAME_SERVERS=f"127.0.0.1:{PROXY}")
    await run("caget", "CAP:ai", env=env)
    await run("caget", "-w", "0.5", "CAP:missing", env=env)


async def caproto_client():
    py = sys.executable
    await run(py, "-m", "caproto.commandline.get", "CAP:ai", "CAP:str", "CAP:mbbo")
    await run(py, "-m", "caproto.commandline.get", "-d", "CTRL_DOUBLE", "CAP:ao")
    await run(py, "-m", "caproto.commandline.put", "CAP:ao", "7.5")
    await run(py, str(HERE / "capture_caproto.py"))


async def raw():
    await run(sys.executable, str(HERE / "capture_raw.py"), str(PROXY))


async def libca_to_caproto():
    for pv in ("CPR:double", "CPR:int", "CPR:str", "CPR:enum", "CPR:chars"):
        await run("caget", "-a", pv)
        await run("caget", "-d", "DBR_CTRL_DOUBLE", pv)
    await run("caget", "-d", "DBR_CTRL_ENUM", "CPR:enum")
    await run("caput", "-c", "CPR:double", "2.5")
    await run("caput", "CPR:enum", "blue")
    await run("cainfo", "CPR:double")


async def beacons():
    rec = Recorder("softIoc's first beacons")
    loop = asyncio.get_running_loop()
    udp, _ = await loop.create_datagram_endpoint(lambda: Beacons(rec), local_addr=("127.0.0.1", BEACON))
    async with softioc():
        await asyncio.sleep(1.5)
    udp.close()
    rec.write("softioc-beacons")


async def repeater():
    rec = Recorder("casw and caproto-get register with caRepeater 7.0.8.1")
    async with background("caRepeater", env=dict(ENV, EPICS_CA_REPEATER_PORT=str(REPEATER))):
        async with Proxy(rec, REPEATER_PROXY, REPEATER, "r", host="0.0.0.0"):
            await run("casw", "-i", "1", timeout=2)
            await run(sys.executable, "-m", "caproto.commandline.get", "-w", "2", "CAP:missing")
            await asyncio.sleep(0.2)
    rec.write("repeater")


async def main():
    only = set(sys.argv[1:])
    versions = (await run("caget", "-V")).replace("\n", " ") if shutil.which("caget") else ""
    runs = [
        ("softioc-caget-forms", "caget -d of each native type in its five forms", caget_forms, softioc),
        ("softioc-caget-converted", "caget -d of one ai in every form", caget_converted, softioc),
        ("softioc-caput", "caput and caput -c of every native type", caput_all, softioc),
        ("softioc-cainfo", "cainfo of existing and missing channels", cainfo_missing, softioc),
        ("softioc-libca", "capture_libca.py: monitors, cancels, clears, big arrays", pyepics, softioc),
        ("softioc-name-server", "caget with EPICS_CA_NAME_SERVERS, found and missing", name_server, softioc),
        ("softioc-caproto", "caproto's clients and capture_caproto.py on softIoc", caproto_client, softioc),
        ("softioc-raw", "capture_raw.py: what no client library sends, to see the server's answer", raw, softioc),
        ("caproto-caget", "caget, caput and cainfo on a caproto IOC", libca_to_caproto, caproto_ioc),
    ]
    # With a repeater at hand the clients do not start one that outlives them.
    async with background("caRepeater"):
        for name, title, action, ioc in runs:
            if not only or name in only:
                await scenario(name, title + "\n" + versions, action, ioc)
    if not only or "softioc-beacons" in only:
        await beacons()
    if not only or "repeater" in only:
        await repeater()


asyncio.run(main())
