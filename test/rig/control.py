"""Passes JSON-RPC calls from standard input to lewis's control server, one a line."""

import json
import sys

from lewis.core.control_client import ControlClient

host, port = sys.argv[1].rsplit(":", 1)
client = ControlClient(host, port, timeout=10000)
for line in sys.stdin:
    call = json.loads(line)
    reply, _ = client.json_rpc(call["method"], *call["params"])
    print(json.dumps(reply), flush=True)
