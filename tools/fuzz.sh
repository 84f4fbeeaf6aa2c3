#!/usr/bin/env bash
# Runs each fuzz target of the module for FUZZTIME, one after the other. Run by make fuzz.
# Arguments are packages; without any, all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzztime=${FUZZTIME:-60s}
failed=()
for package in $(go list "${@:-./...}"); do
	# Listing compiles the package's tests, so only packages that have a fuzz target are asked.
	dir=$(go list -f '{{.Dir}}' "$package")
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz'); do
		echo "== $package $target $fuzztime"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzztime" "$package" || failed+=("$package $target")
	done
done

if ((${#failed[@]})); then
	printf 'failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
