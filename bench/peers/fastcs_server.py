"""A FastCS server of one float attribute without hardware, on REST and Channel Access in one process.

usage: fastcs_server.py REST_PORT, with EPICS_CAS_SERVER_PORT set
"""

import asyncio
import sys

from fastcs.attributes import AttrRW
from fastcs.control_system import FastCS
from fastcs.controllers import Controller
from fastcs.datatypes import Float
from fastcs.logging import LogLevel, configure_logging
from fastcs.transports import EpicsCATransport, RestTransport
from fastcs.transports.rest.options import RestServerOptions


class Soft(Controller):
    value = AttrRW(Float())


async def main() -> None:
    controller = Soft()
    controller.set_path(["SOFT"])
    rest = RestTransport(rest=RestServerOptions(host="127.0.0.1", port=int(sys.argv[1]), log_level="warning"))
    # A line in the log for each put would be part of what is measured.
    configure_logging(LogLevel.WARNING)
    await FastCS(controller, [rest, EpicsCATransport()]).serve(interactive=False)


asyncio.run(main())
