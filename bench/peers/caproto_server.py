"""A caproto server of one float, on the port in EPICS_CA_SERVER_PORT."""

import sys

from caproto.server import PVGroup, pvproperty, run


class Soft(PVGroup):
    value = pvproperty(value=0.0, name="Value")


async def say(_async_lib) -> None:
    print("start is complete", file=sys.stderr, flush=True)


run(Soft(prefix="SOFT:").pvdb, interfaces=["127.0.0.1"], log_pv_names=False, startup_hook=say)
