#!/usr/bin/env bash
# Runs the cluster tests of test/helm on a Kubernetes of its own, as root on Linux. It is built from Go modules, some 7
# minutes the first time, and kept in the user's cache; it runs in namespaces of its own, beside whatever else runs here,
# and nothing is left of it. Arguments go to the tests: tools/cluster/test.sh -test.run Standby
#
# With `up` in place of arguments it leaves the cluster running, and says how to use it and how to end it.
#
# It exits with 3 if this machine cannot run a cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

bin=${XDG_CACHE_HOME:-$HOME/.cache}/polygate/kubebox
work=$(mktemp -d /tmp/cluster.XXXXXX)
cluster=$work/k
keep=
cleanup() {
	[[ -n $keep ]] && return
	[[ ! -e $cluster/init.pid ]] || tools/cluster/kb-down.sh "$cluster"
	rm -rf "$work"
}
trap cleanup EXIT

# packages installs what runs containers, where that is possible.
packages() {
	local missing=() name
	local -A has=([containerd]=containerd [runc]=runc [nft]=nftables [iptables]=iptables [ip]=iproute2 [openssl]=openssl [curl]=curl [nsenter]=util-linux)
	for name in "${!has[@]}"; do
		command -v "$name" >/dev/null || missing+=("${has[$name]}")
	done
	[[ -x /usr/lib/cni/bridge ]] || missing+=(containernetworking-plugins)
	((${#missing[@]})) || return 0
	echo "installing Debian packages: ${missing[*]}"
	apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# images makes those of the gateway and of NATS, without Docker and without a registry.
images() {
	deploy/rootfs.sh "$work/root"
	tools/cluster/mkimage.sh docker.io/library/polygate:dev "$work/polygate.tar" "$work/root/gateway"
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$work/nats-server" github.com/nats-io/nats-server/v2
	tools/cluster/mkimage.sh docker.io/library/nats:2.15.2 "$work/nats.tar" "$work/nats-server"
}

# caget_image makes one of EPICS's own tool and the libraries that it needs, if there is one beside the tests' Python.
caget_image() {
	local tool path files
	[[ -n ${POLYGATE_PYTHON:-} ]] || return 0
	tool=$(find "${POLYGATE_PYTHON%/bin/*}/lib/" -path '*/usr/bin/caget' -print -quit 2>/dev/null || true)
	[[ -n $tool ]] || return 0
	files=("$tool:/usr/bin/caget")
	while read -r path; do
		[[ $path != */bin/../lib/* ]] || { files+=("$path:/usr/lib/${path##*/}"); continue; }
		files+=("$path:$path")
	done < <(ldd "$tool" | grep -o '/[^ ]*')
	tools/cluster/mkimage.sh docker.io/library/caget:dev "$work/caget.tar" "${files[@]}"
	export POLYGATE_CAGET_IMAGE=caget:dev
}

[[ $(id -u) == 0 ]] || { echo "a cluster needs root" >&2; exit 3; }
packages || exit 3
tools/cluster/kb-build.sh "$bin"
images
# shellcheck source=/dev/null
[[ ! -e .cache/test.env ]] || source .cache/test.env
caget_image
tools/cluster/kb-up.sh "$cluster" "$bin" "$work"/*.tar || exit 3
# shellcheck source=/dev/null
source "$cluster/env"
printf '#!/bin/sh\nexec %s/kubebox kubectl "$@"\n' "$bin" >"$work/kubectl"
chmod +x "$work/kubectl"

if [[ ${1:-} == up ]]; then
	keep=yes
	printf 'the cluster runs:\n  source %s/env; kb %s/helm list; kubectl get nodes\nand ends with:\n  tools/cluster/kb-down.sh %s; rm -rf %s\n' "$cluster" "$bin" "$cluster" "$work"
	exit
fi

go test -c -o "$work/tests" ./test/helm
export POLYGATE_KUBECONFIG=$KUBECONFIG POLYGATE_IMAGE=polygate:dev POLYGATE_HELM=$bin/helm POLYGATE_KUBECTL=$work/kubectl
(cd test/helm && kb "$work/tests" -test.run Cluster -test.v -test.timeout 15m "$@")
