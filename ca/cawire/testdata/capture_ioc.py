"""A small caproto IOC, for captures of a server that is not EPICS base."""
from caproto import ChannelType
from caproto.server import PVGroup, ioc_arg_parser, pvproperty, run


class IOC(PVGroup):
    double = pvproperty(value=1.25, name="double", units="mm", precision=3, upper_ctrl_limit=10.0,
                        lower_ctrl_limit=-10.0, upper_disp_limit=9.0, lower_disp_limit=-9.0)
    int = pvproperty(value=[1, 2, -3], name="int", units="counts")
    str = pvproperty(value="text", name="str", dtype=ChannelType.STRING)
    enum = pvproperty(value="green", name="enum", enum_strings=["red", "green", "blue"], dtype=ChannelType.ENUM)
    chars = pvproperty(value="characters", name="chars", max_length=64)


if __name__ == "__main__":
    options, run_options = ioc_arg_parser(default_prefix="CPR:", desc=__doc__)
    run(IOC(**options).pvdb, **run_options)
