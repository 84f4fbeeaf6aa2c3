#!/usr/bin/env bash
# Sets up what the tests use, and writes where it is to .cache/test.env. Run by make test; with the argument docker also
# what the tests in containers use, by make e2e.
#
# As root on Debian it installs missing packages, and says which. Everywhere else it only says what is missing, how to get
# it and which tests that skips. With POLYGATE_REQUIRE=1 something missing is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=$PWD/.cache
venv=$cache/venv
modules=$cache/node
jca=$cache/jca.jar
prometheus=$cache/prometheus
copy_plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
missing=0

# lacking WHAT HOW SKIPPED
lacking() {
	missing=1
	printf 'missing: %s\n  to get it: %s\n  skipped without it: %s\n' "$1" "$2" "$3" >&2
}

can_install() {
	[[ $(id -u) == 0 && -e /etc/debian_version ]] && command -v apt-get >/dev/null
}

# install_packages NAME... fails quietly where packages cannot be installed.
install_packages() {
	can_install || return 1
	echo "installing Debian packages: $*"
	mkdir -p "$cache"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
		>"$cache/apt.log" 2>&1 || { tail -n 20 "$cache/apt.log" >&2; return 1; }
}

has_venv() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# prepare_compiler: the race detector links with a C compiler.
prepare_compiler() {
	[[ $(go env CGO_ENABLED) == 1 ]] && command -v "$(go env CC)" >/dev/null && return
	install_packages gcc libc6-dev && return
	lacking "a C compiler" "install gcc or clang" "nothing, but the race detector cannot run: use make test RACE="
}

# prepare_python: the virtual environment is made anew when a pinned version changes.
prepare_python() {
	local pins
	pins=$(cat test/clients/requirements.txt test/clients/constraints.txt)
	[[ -x $venv/bin/python && -e $venv/pins && $(<"$venv/pins") == "$pins" ]] && return
	has_venv || install_packages python3 python3-venv || true
	if ! has_venv; then
		lacking "Python 3.11 or newer with venv" "install python3 and python3-venv" \
			"tests against instruments and clients written in Python"
		return
	fi
	echo "installing test/clients/requirements.txt into .cache/venv"
	rm -rf "$venv"
	if python3 -m venv "$venv" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
		-r test/clients/requirements.txt -c test/clients/constraints.txt; then
		printf '%s\n' "$pins" >"$venv/pins"
		return
	fi
	rm -rf "$venv"
	lacking "the packages of test/clients/requirements.txt" "see pip's words above; run make test again" \
		"tests against instruments and clients written in Python"
}

has_npm() {
	command -v npm >/dev/null &&
		node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null
}

# prepare_node: the modules are installed anew when a pinned version changes.
prepare_node() {
	local pins
	pins=$(<test/clients/package-lock.json)
	[[ -e $modules/pins && $(<"$modules/pins") == "$pins" ]] && has_npm && return
	has_npm || install_packages nodejs npm || true
	if ! has_npm; then
		lacking "Node.js 18 or newer with npm" "install nodejs and npm" "tests against clients written in JavaScript"
		return
	fi
	echo "installing test/clients/package-lock.json into .cache/node"
	rm -rf "$modules"
	mkdir -p "$modules"
	cp test/clients/package.json test/clients/package-lock.json "$modules"
	if npm ci --prefix "$modules" --silent --ignore-scripts --no-audit --no-fund; then
		printf '%s\n' "$pins" >"$modules/pins"
		return
	fi
	rm -rf "$modules"
	lacking "the packages of test/clients/package.json" "see npm's words above; run make test again" \
		"tests against clients written in JavaScript"
}

# has_java: the version that runs a program from its source, with its compiler.
has_java() { [[ $(java --list-modules 2>/dev/null) == *jdk.compiler@* ]]; }

# prepare_java: the client is one file, fetched anew when its pin changes.
prepare_java() {
	local pin artifact sum
	pin=$(<test/clients/jca.pin)
	read -r artifact sum <<<"$pin"
	has_java || install_packages default-jdk-headless || true
	if ! has_java; then
		lacking "a Java development kit of version 11 or newer" "install default-jdk-headless" "the test against the Java client"
		return
	fi
	[[ -e $jca.pin && $(<"$jca.pin") == "$pin" ]] && return
	command -v mvn >/dev/null || install_packages maven || true
	if ! command -v mvn >/dev/null; then
		lacking "Maven" "install maven" "the test against the Java client"
		return
	fi
	echo "fetching $artifact into .cache"
	if mvn -q -B "$copy_plugin:copy" -Dartifact="$artifact" -DoutputDirectory="$cache/maven" -Dmdep.stripVersion=true &&
		mv "$cache/maven/jca.jar" "$jca" && sha256sum --check --quiet <<<"$sum  $jca"; then
		printf '%s\n' "$pin" >"$jca.pin"
		return
	fi
	rm -f "$jca"
	lacking "$artifact" "see Maven's words above; run make test again" "the test against the Java client"
}

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

prepare_chromium() {
	find_chromium >/dev/null && return
	install_packages chromium && return
	lacking "Chromium" "install chromium" "tests of the pages in a browser"
}

# prepare_prometheus takes the program out of its package: installed, it would start to serve.
prepare_prometheus() {
	[[ -x $prometheus || -n ${POLYGATE_PROMETHEUS:-} ]] && return
	if command -v prometheus >/dev/null; then
		mkdir -p "$cache"
		ln -sf "$(command -v prometheus)" "$prometheus"
		return
	fi
	if can_install; then
		echo "unpacking the Debian package prometheus into .cache"
		mkdir -p "$cache/deb"
		if (cd "$cache/deb" && { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } &&
			dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/prometheus) >"$cache/apt.log" 2>&1; then
			mv "$cache/deb/usr/bin/prometheus" "$prometheus"
			rm -rf "$cache/deb"
			return
		fi
		tail -n 20 "$cache/apt.log" >&2
		rm -rf "$cache/deb"
	fi
	lacking "Prometheus" "install prometheus" "tests of the alerts and the dashboard"
}

# prepare_docker: a daemon elsewhere will do; tools/with-docker.sh starts one where none runs.
prepare_docker() {
	docker info >/dev/null 2>&1 && return
	command -v docker >/dev/null && command -v dockerd >/dev/null && return
	install_packages docker.io && return
	lacking "Docker" "install docker.io" "tests in containers"
}

if ! command -v go >/dev/null; then
	echo "missing: Go. Get the version that go.mod names from https://go.dev/dl" >&2
	exit 1
fi
prepare_compiler
prepare_python
prepare_node
prepare_java
prepare_chromium
prepare_prometheus
[[ ${1:-} != docker ]] || prepare_docker

mkdir -p "$cache"
{
	echo "# Written by tools/prepare.sh. What is not set was not found, or was set by the caller."
	if [[ -x $venv/bin/python ]]; then
		echo ": \"\${POLYGATE_PYTHON:=$venv/bin/python}\""
	fi
	if [[ -e $modules/pins ]]; then
		echo ": \"\${POLYGATE_NODE_MODULES:=$modules/node_modules}\""
	fi
	if [[ -e $jca.pin ]] && has_java; then
		echo ": \"\${POLYGATE_JAVA:=$(command -v java)}\" \"\${POLYGATE_JCA:=$jca}\""
	fi
	if chromium=$(find_chromium); then
		echo ": \"\${POLYGATE_CHROMIUM:=$chromium}\""
	fi
	if [[ -x $prometheus ]]; then
		echo ": \"\${POLYGATE_PROMETHEUS:=$prometheus}\""
	fi
	echo "export POLYGATE_PYTHON POLYGATE_NODE_MODULES POLYGATE_JAVA POLYGATE_JCA POLYGATE_CHROMIUM POLYGATE_PROMETHEUS"
} >"$cache/test.env"

if [[ $missing == 1 && ${POLYGATE_REQUIRE:-} == 1 ]]; then
	echo "POLYGATE_REQUIRE=1 asks for all of it" >&2
	exit 1
fi
