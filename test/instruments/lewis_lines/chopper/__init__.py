"""The chopper of the package lewis, which knows EPICS only, on a line of text.

The simulated chopper is lewis's own: its states, its speeds, and what it does in which state.

    python -m lewis -a test/instruments -k lewis_lines chopper -p 'stream: {bind_address: 127.0.0.1, port: 9997}'
"""

from lewis.adapters.stream import Cmd, StreamInterface, Var
from lewis.devices.chopper.devices.device import SimulatedChopper

framework_version = "1.4.0"

NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"


class ChopperLine(StreamInterface):
    """A question ends in ?, everything else is answered with OK, or with NO and a reason."""

    in_terminator = "\r\n"
    out_terminator = "\r\n"

    commands = {
        Var("state", read_pattern=r"^STATE\?$"),
        Var("speed", read_pattern=r"^SPEED\?$"),
        Var("phase", read_pattern=r"^PHASE\?$"),
        Var("parking_position", read_pattern=r"^PARKPOS\?$"),
        Var("target_speed", read_pattern=r"^SETSPEED\?$"),
        Var("target_phase", read_pattern=r"^SETPHASE\?$"),
        Var("target_parking_position", read_pattern=r"^SETPARKPOS\?$"),
        Cmd("set_speed", rf"^SETSPEED {NUMBER}$", argument_mappings=(float,)),
        Cmd("set_phase", rf"^SETPHASE {NUMBER}$", argument_mappings=(float,)),
        Cmd("set_parking_position", rf"^SETPARKPOS {NUMBER}$", argument_mappings=(float,)),
        Cmd("command", r"^(INIT|DEINIT|START|STOP|LOCK|UNLOCK|PARK)$"),
    }

    def set_speed(self, value):
        self.device.target_speed = value
        return "OK"

    def set_phase(self, value):
        self.device.target_phase = value
        return "OK"

    def set_parking_position(self, value):
        self.device.target_parking_position = value
        return "OK"

    def command(self, name):
        if isinstance(name, bytes):
            name = name.decode()
        state = self.device.state
        if (name == "INIT") != (state == "init"):
            return f"NO: it is in state {state}"
        if name == "START" and self.device.target_speed <= 0:
            return "NO: there is no speed to go to"
        method = {"INIT": "initialize", "DEINIT": "deinitialize", "LOCK": "lock_phase"}.get(name, name.lower())
        getattr(self.device, method)()
        return "OK"

    def handle_error(self, request, error):
        self.log.error("%r: %s", request, error)
        return "NO: not understood"
