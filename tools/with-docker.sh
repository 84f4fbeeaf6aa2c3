#!/usr/bin/env bash
# tools/with-docker.sh COMMAND... runs a command while there is a Docker daemon: the one that runs already or, as root
# where none does, one that is started for it and ended afterwards.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

answers() { docker info >/dev/null 2>&1; }

pid=
if ! answers && [[ $(id -u) == 0 ]] && command -v dockerd >/dev/null; then
	log=.cache/dockerd.log
	mkdir -p .cache
	echo "starting dockerd, which writes to $log"
	dockerd >"$log" 2>&1 &
	pid=$!
	for ((tries = 0; tries < 120; tries++)); do
		answers && break
		# If somebody else has started one at the same time, ours ends and theirs will answer.
		sleep 0.5
	done
	answers || tail -n 20 "$log" >&2
fi
"$@"
code=$?
if [[ -n $pid ]] && kill "$pid" 2>/dev/null; then
	wait "$pid"
fi
exit "$code"
