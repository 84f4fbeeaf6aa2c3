#!/bin/bash
# kb-up.sh STATE_DIR BIN_DIR [IMAGE.tar...]
# Starts a one-node Kubernetes in its own network, mount and PID namespaces, with no way
# out of them. BIN_DIR holds kubebox and, for cluster DNS, coredns. The image tars (docker
# archives) are imported; a pause image must be among them or in BIN_DIR/pause.tar.
# Afterwards: . STATE_DIR/env; kb helm ...; kubectl ...    End: kb-down.sh STATE_DIR
set -euo pipefail
S=$(realpath -m "${1:?state dir}"); B=$(realpath "${2:?bin dir}"); shift 2
HERE=$(dirname "$(realpath "$0")")
NODE=kubebox NODEIP=10.88.0.1 PODS=10.88.0.0/24 SVC=10.96.0.0/16 SVCIP=10.96.0.1
CG=kubebox-$(printf %s "$S" | sha1sum | cut -c1-8)
PAUSE=docker.io/library/kubebox-pause:1
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 1; }
[ ${#S} -le 60 ] || { echo "state dir path too long for unix sockets" >&2; exit 1; }
[ ! -e "$S/init.pid" ] || { echo "already up (or not taken down): $S" >&2; exit 1; }
mkdir -p "$S"/{pki,etc,log,varlog,cni,varlib,varlib.work,kubelet,containerd/root,containerd/state,sysctl}
mkdir "$S/etcd"
chmod 700 "$S/etcd" "$S/pki" "$S/etc"

# --- keys, tokens, kubeconfigs: one self-signed serving certificate, static tokens -----
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
  -keyout "$S/pki/apiserver.key" -out "$S/pki/apiserver.crt" -subj /CN=kubebox-ca \
  -addext "subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$NODEIP,IP:$SVCIP" 2>/dev/null
openssl genrsa -out "$S/pki/sa.key" 2048 2>/dev/null
: > "$S/pki/tokens.csv"
while IFS='|' read -r name user groups; do
  tok=$(openssl rand -hex 16)
  echo "$tok,$user,$name${groups:+,\"$groups\"}" >> "$S/pki/tokens.csv"
  cat > "$S/etc/$name.kubeconfig" <<K
apiVersion: v1
kind: Config
clusters:
- {name: kubebox, cluster: {server: "https://127.0.0.1:6443", certificate-authority: $S/pki/apiserver.crt}}
users:
- {name: $name, user: {token: $tok}}
contexts:
- {name: kubebox, context: {cluster: kubebox, user: $name}}
current-context: kubebox
K
done <<U
admin|admin|system:masters
kcm|system:kube-controller-manager|
scheduler|system:kube-scheduler|
kubelet|system:node:$NODE|system:nodes
proxy|system:kube-proxy|
dns|system:coredns|system:masters
U

# --- configuration ----------------------------------------------------------------------
cat > "$S/etc/containerd.toml" <<C
version = 2
root = "$S/containerd/root"
state = "$S/containerd/state"
[grpc]
  address = "$S/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$S/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  # where there is no CAP_SYS_RESOURCE, runc dies without it: "can't get final child's PID from pipe: EOF", on the
  # sandbox's oom_score_adj -998
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$S/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
C
cat > "$S/cni/10-kubebox.conflist" <<C
{"cniVersion": "0.4.0", "name": "kubebox", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true,
   "hairpinMode": true, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$S/cni-ipam",
            "ranges": [[{"subnet": "$PODS", "rangeStart": "10.88.0.10", "gateway": "$NODEIP"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
C
DNS=; [ -x "$B/coredns" ] && DNS=$NODEIP
cat > "$S/etc/kubelet.yaml" <<C
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /$CG
containerRuntimeEndpoint: unix://$S/containerd.sock
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
podLogsDir: $S/varlog/pods
volumePluginDir: $S/kubelet/volumeplugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: "1Mi", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
nodeStatusUpdateFrequency: 5s
clusterDomain: cluster.local
clusterDNS: [${DNS}]
resolvConf: $S/etc/resolv.conf
C
: > "$S/etc/resolv.conf"
cat > "$S/etc/proxy.yaml" <<C
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: $S/etc/proxy.kubeconfig}
hostnameOverride: $NODE
clusterCIDR: $PODS
conntrack: {maxPerCore: 0, min: 0}
C
cat > "$S/etc/Corefile" <<C
.:53 {
    bind $NODEIP
    ready 127.0.0.1:8181
    errors
    cache 5
    loadbalance
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig $S/etc/dns.kubeconfig
        ttl 5
    }
}
C
# Storage: a default class and a few ready "local" volumes (these honour fsGroup; the
# controller manager's hostpath provisioner makes directories only root can write to)
{
  cat <<C
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
C
  for n in 1 2 3 4 5 6 7 8; do
    mkdir -p "$S/volumes/$n"
    cat <<C
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: local-$n}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteOnce, ReadWriteMany, ReadOnlyMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: local
  local: {path: $S/volumes/$n}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [$NODE]}]}]}}
C
  done
} > "$S/etc/storage.yaml"
cat > "$S/env" <<C
export KUBECONFIG=$S/etc/admin.kubeconfig
export CONTAINERD_ADDRESS=$S/containerd.sock CONTAINERD_NAMESPACE=k8s.io
# keep kubectl and helm out of \$HOME
export KUBECACHEDIR=$S/home/kube KUBERC=off
export HELM_CACHE_HOME=$S/home/helm-cache HELM_CONFIG_HOME=$S/home/helm-config HELM_DATA_HOME=$S/home/helm-data
# kb CMD...: runs CMD in the cluster's network namespace (API, pods and Services are only there)
kb() { nsenter -t "\$(cat $S/init.pid)" --net -- "\$@"; }
kubectl() { kb $B/kubebox kubectl "\$@"; }
C

# --- go -----------------------------------------------------------------------------------
export S B CG NODE NODEIP SVC DNS
setsid unshare --net --mount --pid --fork --kill-child --mount-proc --propagation slave \
  bash "$HERE/kb-init.sh" > "$S/log/init.log" 2>&1 < /dev/null &
u=$!; disown $u
for _ in $(seq 100); do
  p=$(cat "/proc/$u/task/$u/children" 2>/dev/null || true); [ -n "$p" ] && break; sleep 0.05
done
echo "${p% }" > "$S/init.pid"
# shellcheck source=/dev/null
. "$S/env"
t0=$(date +%s%N); say() { local d=$((($(date +%s%N) - t0) / 100000000)); printf '%4d.%ds %s\n' $((d / 10)) $((d % 10)) "$*"; }
wait_for() {
  local what=$1 end=$(($(date +%s) + $2)); shift 2
  until "$@" >/dev/null 2>&1; do
    if [ ! -e "/proc/$(cat "$S/init.pid")" ] || [ "$(date +%s)" -ge "$end" ]; then
      echo "FAILED: $what" >&2; tail -n 5 "$S"/log/*.log >&2; exit 1
    fi
    sleep 0.2
  done
  say "$what"
}
wait_for "containerd" 30 ctr version
for t in "$B/pause.tar" "$@"; do [ ! -e "$t" ] || ctr images import "$t" > /dev/null; done
[ -n "$(ctr images ls -q name=="$PAUSE")" ] || { echo "no $PAUSE image" >&2; exit 1; }
say "images imported"
wait_for "apiserver" 120 kubectl get --raw /readyz
wait_for "storage" 20 kubectl apply -f "$S/etc/storage.yaml"
wait_for "default service account" 60 kubectl -n default get serviceaccount default
wait_for "node Ready" 120 kubectl wait --for=condition=Ready "node/$NODE" --timeout=1s
[ -z "$DNS" ] || wait_for "DNS" 60 kb curl -sf -o /dev/null http://127.0.0.1:8181/ready
