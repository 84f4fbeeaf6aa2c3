"""A Modbus server of pymodbus whose registers can be read and changed from outside.

Arguments: "tcp HOST PORT" or "rtu PATH", and the numbers of the units. It says one line when it serves. Then each line of
its input is one call in JSON and is answered with one line: unit, table (the function that reads it), address, type (one
of pymodbus's data types, or BITS), order of the words, count, and, to change it, value.
"""

import asyncio
import json
import sys

from pymodbus.client.mixin import ModbusClientMixin
from pymodbus.framer import FramerType
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

TYPES = ModbusClientMixin.DATATYPE


def device(unit):
    bits = [[SimData(0, values=[False] * 64, datatype=DataType.BITS)] for _ in range(2)]
    words = [[SimData(0, values=[0] * 500, datatype=DataType.REGISTERS)] for _ in range(2)]
    return SimDevice(unit, simdata=(*bits, *words))


async def answer(context, call):
    unit, table, address = call["unit"], call["table"], call["address"]
    if call["type"] == "BITS":
        if "value" in call:
            return await context.async_setValues(unit, table, address, call["value"])
        return await context.async_getValues(unit, table, address, call["count"])
    kind, order = TYPES[call["type"]], call.get("order", "big")
    if "value" in call:
        words = ModbusClientMixin.convert_to_registers(call["value"], kind, word_order=order)
        return await context.async_setValues(unit, table, address, words)
    words = await context.async_getValues(unit, table, address, call["count"])
    return ModbusClientMixin.convert_from_registers(words, kind, word_order=order)


async def main(how, *rest):
    units = [device(int(unit)) for unit in rest[2 if how == "tcp" else 1:]]
    if how == "tcp":
        server = ModbusTcpServer(units, address=(rest[0], int(rest[1])))
    else:
        server = ModbusSerialServer(units, framer=FramerType.RTU, port=rest[0], baudrate=9600, ignore_missing_devices=True)
    await server.serve_forever(background=True)
    print(json.dumps("serving"), flush=True)
    calls = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(calls), sys.stdin)
    while line := await calls.readline():
        result = await answer(server.context, json.loads(line))
        print(json.dumps(result), flush=True)
    await server.shutdown()


asyncio.run(main(*sys.argv[1:]))
