#!/usr/bin/env bash
# Runs every fuzz target of the repository: fuzz.sh SECONDS [TOTAL]. Each gets SECONDS, or less where all together would
# take more than TOTAL.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

seconds=${1:?usage: $0 SECONDS [TOTAL]}
total=${2:-}

targets=()
for folder in $(files '*_test.go' | xargs -r grep -lE '^func Fuzz' | xargs -r -n1 dirname | sort -u); do
	module=$folder
	until [ -f "$module/go.mod" ]; do module=$(dirname "$module"); done
	package=./$(realpath --relative-to="$module" "$folder")
	names=$(work=$(workspace "$module") && cd "$module" && GOWORK=$work go test -list '^Fuzz' "$package" | grep '^Fuzz')
	for name in $names; do
		targets+=("$module $package $name")
	done
done
if [ -n "$total" ] && [ $((seconds * ${#targets[@]})) -gt "$total" ]; then
	seconds=$((total / ${#targets[@]} + 1))
fi
echo "${#targets[@]} fuzz targets, $seconds s each"
for target in "${targets[@]}"; do
	read -r module package name <<<"$target"
	within "$module" go test -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" -fuzzminimizetime 5x "$package"
done
