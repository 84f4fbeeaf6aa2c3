#!/usr/bin/env bash
# deploy/rootfs.sh DIR makes all files of the image in DIR: the static program, the licences of everything that is
# linked into it, and the list of that (sbom.json, CycloneDX). Both Dockerfiles use it; it needs Go alone.
#
# GOARCH is the machine to build for, VERSION what `gateway version` says, SOURCE_DATE_EPOCH the time of all files. With
# the same source, Go and variables, the bytes are the same on every machine.
set -euo pipefail

root=$(realpath -m "${1:?usage: deploy/rootfs.sh DIR}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo development)}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

mkdir -p "$root/licenses"
CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$version" \
	-o "$root/gateway" ./cmd/gateway
# The program that lists is for this machine, whatever the other one is for.
env -u GOOS -u GOARCH go run -C tools/sbom . -program "$root/gateway" -version "$version" -licence "$PWD/LICENSE" -modules "$(go env GOMODCACHE)" \
	-goroot "$(go env GOROOT)" -licences "$root/licenses" >"$root/sbom.json"
chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch --no-dereference --date="@$epoch" {} +
