"""Uses libca through pyepics: what the command line tools do not do."""
import os
import time

os.environ.pop("PYEPICS_LIBCA", None)
import epicscorelibs.path.pyepics  # noqa: F401,E402  selects epicscorelibs' libca
from epics import ca, dbr  # noqa: E402

ca.initialize_libca()
got = []


def on_event(**kw):
    got.append(kw.get("value"))


def channel(name):
    chid = ca.create_channel(name, connect=True)
    ca.connect_channel(chid, timeout=5)
    return chid


for name in ("CAP:count", "CAP:ai", "CAP:mbbo", "CAP:str", "CAP:long", "CAP:wshort", "CAP:wfloat", "CAP:wchar"):
    chid = channel(name)
    for use_ctrl in (False, True):
        sub = ca.create_subscription(chid, callback=on_event, use_time=not use_ctrl, use_ctrl=use_ctrl,
                                     mask=dbr.DBE_VALUE | dbr.DBE_LOG | dbr.DBE_ALARM | dbr.DBE_PROPERTY)
        ca.poll(1e-3, 1.0)
        time.sleep(0.25 if name == "CAP:count" else 0.02)
        ca.poll(1e-3, 1.0)
        ca.libca.ca_clear_subscription(sub[2])
        ca.poll(1e-3, 1.0)
    ca.clear_channel(chid)
    ca.poll(1e-3, 1.0)

big = channel("CAP:wbig")
ca.get(big, count=0)                                 # one element, but a long header
ca.put(big, [0.0] * 10000, wait=True)                # a long request
ca.get(big, count=10000)
ca.get(big, count=8192)                              # 65,536 bytes, just long
ca.get(big, count=8191)                              # 65,528 bytes, just short
chars = channel("CAP:wbigchar")
ca.put(chars, [7] * 70000, wait=True)
for count in (65534, 65535, 65528, 65529):
    ca.get(chars, count=count)
empty = channel("CAP:wdouble")
ca.put(empty, [], wait=False)
ca.poll(1e-3, 1.0)
ca.get(empty, count=0)
print(len(got), "events")
ca.finalize_libca()
