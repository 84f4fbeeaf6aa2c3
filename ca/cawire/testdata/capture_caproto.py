"""Uses caproto's threading client: plain READ, EVENTS_OFF and EVENTS_ON, cancel."""
import time

from caproto.threading.client import Context

ctx = Context()
pvs = ctx.get_pvs("CAP:count", "CAP:str", "CAP:ai", timeout=10)
for pv in pvs:
    pv.wait_for_connection(timeout=10)
for pv in pvs:
    pv.read(notify=False)
    pv.read(data_type="time", notify=True)
sub = pvs[0].subscribe()
token = sub.add_callback(lambda sub, event: None)
time.sleep(0.3)
cm = pvs[0].circuit_manager
cm.events_off()
time.sleep(0.2)
cm.events_on()
time.sleep(0.2)
sub.clear()
time.sleep(0.2)
pvs[1].write(["written"], notify=False, wait=False)
pvs[1].write(["written twice"], notify=True)
for pv in pvs:
    pv.go_idle()
time.sleep(0.3)
print("done")
