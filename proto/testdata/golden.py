"""Writes golden.txt: messages as another implementation of protobuf encodes them.

    pip install protobuf==7.36.2 grpcio-tools==1.85.1
    python golden.py > golden.txt
"""
import importlib
import pathlib
import subprocess
import sys
import tempfile

proto = pathlib.Path(__file__).resolve().parent.parent
with tempfile.TemporaryDirectory() as out:
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", f"--python_out={out}",
         "polygate/v1/model.proto", "polygate/v1/bus.proto"],
        cwd=proto, check=True)
    sys.path.insert(0, out)
    model = importlib.import_module("polygate.v1.model_pb2")
    bus = importlib.import_module("polygate.v1.bus_pb2")

    owner = bus.Owner(device="oven", instance="i1", term=7)
    sample = model.Sample(
        value=model.Value(int64_value=-(2**53) - 1), time_ns=1764504000123456789, last_good_ns=1764503999123456789,
        alarm=model.Alarm(severity=model.SEVERITY_MAJOR, status=model.STATUS_HIHI, text="zu heiß"),
        seq=1764504000123456, mask=5)
    messages = {
        "update": bus.Update(owner=owner, revision=300, samples=[
            bus.SampleUpdate(index=200, role=model.ROLE_READBACK, sample=sample),
            bus.SampleUpdate(role=model.ROLE_SETPOINT, accepts=bus.PutID(hub=2**64 - 1, n=3), sample=model.Sample(
                value=model.Value(float64_array=model.Float64Array(elements=[1.5, float("inf"), -0.0])))),
            bus.SampleUpdate(index=1, role=model.ROLE_READBACK, sample=model.Sample(
                value=model.Value(int16_array=model.Int16Array(elements=[-32768, 0, 32767])), seq=2)),
        ]),
        "announcement": bus.Announcement(
            owner=owner, revision=1, pieces=1, info=model.DeviceInfo(driver="serial"),
            state=bus.DeviceState(connected=True, since_ns=1, stale=[0, 300]),
            attributes=[bus.Announced(
                descriptor=model.Descriptor(
                    path="oven.mode", access=model.ACCESS_READ_WRITE, poll_ns=200_000_000, annotations={"ca.name": "OVEN:Mode"},
                    type=model.Type(kind=model.KIND_ENUM, precision=0, states=[
                        model.State(label="Off"), model.State(label="On", raw="17", severity=model.SEVERITY_MINOR)])),
                readback=model.Sample(value=model.Value(enum_index=0), seq=9), setpoint=model.Sample())]),
        "state": bus.DeviceState(owner=owner, leaving=True, words="stopped"),
        "put": bus.Put(
            id=bus.PutID(hub=1, n=2), to=owner, path="oven.mode", value=model.Value(enum_index=1), budget_ns=10**10,
            mode=model.MODE_LATEST, urgent=True, caller=model.Caller(protocol="ca", peer="127.0.0.1:5064")),
        "verdict": bus.PutVerdict(
            owner=owner, id=bus.PutID(hub=1, n=2), revision=1, verdict=model.Verdict(
                stage=model.STAGE_SENT, error=model.Error(
                    kind=model.ERROR_KIND_REFUSED_BY_DEVICE, stage=model.STAGE_SENT, message="no", device_words="ERR 5"))),
    }
    for name, message in messages.items():
        print(name, message.SerializeToString(deterministic=True).hex())
