"""Monitors many counters with one of the Python clients, and checks every sample.

    counters.py CLIENT COUNT SAMPLES

CLIENT is pyepics, aioca, cothread, caproto or pvapy. Of each of the PVs X:C0, X:C1, ... it
waits for SAMPLES samples: values that rise by 1, rising times, severity MINOR.
It prints what is wrong and exits with 1, or prints "good".
"""

import os
import sys
import threading


class Checker:
    """Judges the samples of all counters, and calls at_end when there are enough or one is wrong."""

    def __init__(self, count, samples):
        self.samples = samples
        self.last = [None] * count
        self.seen = [0] * count
        self.left = count
        self.wrong = []
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.at_end = self.done.set
        self.limit = 60 + samples / 5  # twice what they take at 10 Hz

    def __call__(self, i, value, time, severity):
        with self.lock:
            before, self.last[i] = self.last[i], (value, time)
            if before and value != before[0] + 1:
                self.wrong.append(f"counter {i}: {value} follows {before[0]}")
            if before and time <= before[1]:
                self.wrong.append(f"counter {i}: time {time} follows {before[1]}")
            if severity != 1:
                self.wrong.append(f"counter {i}: severity {severity}")
            self.seen[i] += 1
            if self.seen[i] == self.samples:
                self.left -= 1
            if self.left == 0 or self.wrong:
                self.at_end()

    def wait(self):
        return self.done.wait(self.limit)

    def verdict(self):
        if not self.wrong and self.left:
            self.wrong.append(f"{self.left} counters are incomplete; seen {min(self.seen)} to {max(self.seen)}")
        print("\n".join(self.wrong[:20]) or "good")
        return 1 if self.wrong else 0


def name(i):
    return f"X:C{i}"


def pyepics(check, count):
    import epics

    def follow(i):
        def update(value=None, timestamp=None, severity=None, posixseconds=None, nanoseconds=None, **_):
            check(i, value, posixseconds * 1_000_000_000 + nanoseconds, severity)

        return update

    pvs = [epics.PV(name(i), form="time", auto_monitor=True, callback=follow(i)) for i in range(count)]
    check.wait()
    for pv in pvs:
        pv.disconnect()


def aioca(check, count):
    import asyncio

    import aioca as client

    async def main():
        def follow(value, i):
            check(i, float(value), (value.raw_stamp[0], value.raw_stamp[1]), value.severity)

        names = [name(i) for i in range(count)]
        subscriptions = client.camonitor(names, follow, format=client.FORMAT_TIME, all_updates=True)
        await asyncio.to_thread(check.wait)
        for s in subscriptions:
            s.close()

    asyncio.run(main())


def cothread(check, count):
    import cothread as scheduler
    from cothread import catools as client

    def follow(value, i):
        check(i, float(value), (value.raw_stamp[0], value.raw_stamp[1]), value.severity)
        if check.done.is_set():
            ended.Signal()

    ended = scheduler.Event()
    names = [name(i) for i in range(count)]
    subscriptions = client.camonitor(names, follow, format=client.FORMAT_TIME, all_updates=True)
    try:
        ended.Wait(check.limit)
    except scheduler.Timedout:
        pass  # the verdict says what is missing
    for s in subscriptions:
        s.close()


def caproto(check, count):
    from caproto.threading.client import Context

    context = Context()
    pvs = context.get_pvs(*(name(i) for i in range(count)))
    kept = []
    for i, pv in enumerate(pvs):
        def update(_, response, i=i):
            stamp = response.metadata.stamp
            check(i, response.data[0], stamp.secondsSinceEpoch * 1_000_000_000 + stamp.nanoSeconds, response.metadata.severity)

        pv.wait_for_connection(timeout=30)
        subscription = pv.subscribe(data_type="time")
        subscription.add_callback(update)
        kept.append((subscription, update))
    check.wait()
    context.disconnect()


def pvapy(check, count):
    import pvaccess

    def follow(i):
        def update(pv):
            value = pv.toDict()
            stamp = value["timeStamp"]
            check(i, value["value"], stamp["secondsPastEpoch"] * 1_000_000_000 + stamp["nanoseconds"], value["alarm"]["severity"])

        return update

    # Its threads and this one end the interpreter, if they run Python at a time: the
    # last callback says how it went.
    check.at_end = lambda: end(check)
    channels = [pvaccess.Channel(name(i), pvaccess.CA) for i in range(count)]
    for i, channel in enumerate(channels):
        channel.subscribe(f"s{i}", follow(i))
        # Its queue has two places by default, and what does not fit is merged.
        channel.startMonitor("record[queueSize=1000]field(value,alarm,timeStamp)")
    check.wait()


def main():
    client, count, samples = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    check = Checker(count, samples)
    try:
        globals()[client](check, count)
    except ModuleNotFoundError as missing:
        sys.exit(str(missing))
    end(check)


def end(check):
    code = check.verdict()
    sys.stdout.flush()
    os._exit(code)  # some clients cannot end their threads


if __name__ == "__main__":
    main()
