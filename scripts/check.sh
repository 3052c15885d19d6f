#!/usr/bin/env bash
# Checks what can be said of the code without running its tests. Each check says what is wrong and where; all of them run
# before it fails.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

failed=0
# passes COMMAND... is a check that says for itself what is wrong.
passes() { "$@" || failed=1; }
# none WHAT is a check that fails for each line that it reads.
none() {
	local found
	found=$(cat)
	[ -n "$found" ] || return 0
	echo "$1:"
	sed 's/^/    /' <<<"$found"
	failed=1
}
# search PATTERN [OPTIONS...] greps the files whose names it reads.
search() { xargs -r -d '\n' grep -nHE "${@:2}" -e "$1" || true; }
# unexplained drops the lines that carry a comment.
unexplained() { grep -vE '[^:]// ?.+' || true; }
gofiles() { files '*.go'; }

bin=$PWD/.build/tools
within tools env GOWORK=off go build -o "$bin/" tool

echo "+ gofumpt -l"
none "not formatted: run .build/tools/gofumpt -w on" < <(gofiles | xargs -r "$bin/gofumpt" -l)

for module in $(modules); do
	packages=$(packages "$module")
	tagsets=("")
	[ "$(workspace "$module")" = off ] || tagsets=("" devcluster,soak)
	for tags in "${tagsets[@]}"; do
		[ -n "$packages" ] || continue
		passes within "$module" go vet -tags="$tags" $packages
		passes within "$module" "$bin/staticcheck" -tags="$tags" $packages
	done
done
for module in $(modules); do
	# Outside of the workspace: as who imports the module sees it.
	passes within "$module" env GOWORK=off go mod tidy -diff
done

echo "+ rules of the house"
none "a dependency that the library's go.mod must not have" < <(
	grep -E 'k8s\.io/kubernetes |go\.etcd\.io/etcd/(server|v3)|sigs\.k8s\.io/controller-runtime ' go.mod)
none "exported without a doc comment" < <(gofiles | xargs -r "$bin/undocumented")
nested=$(modules | grep -vx '\.' | paste -sd'|' -)
none "only clientgo may import client-go's tools/cache" < <(
	gofiles | grep -vE "^(clientgo|${nested:-none})/" | search '"k8s\.io/client-go/tools/cache"')
none "skipped without a reason in a comment on the line" < <(
	gofiles | search '\b(t|b|tb|f)\.Skip(f|Now)?\(' | unexplained)
# In a bubble of testing/synctest a sleep takes no time: tests of packages that use it may.
none "sleeps, outside of testing/synctest, without a reason in a comment on the line" < <(
	gofiles | while read -r file; do
		if [[ $file != *_test.go ]] || ! grep -qs '"testing/synctest"' "$(dirname "$file")"/*_test.go; then echo "$file"; fi
	done | search '\btime\.Sleep\(' | unexplained)
none "path of a machine" < <(
	files | grep -vE '(^|/)go\.(work\.)?sum$|/testdata/' | search '(^|[^A-Za-z0-9_.$}*-])/(root|home|Users|work)/' -I)
none "line of more than 180 characters, outside of tests, whose tables hold whole texts" < <(
	gofiles | grep -v '_test\.go$' | search '^.{181,}' | cut -c1-80)
none "package without a TestMain that checks for leaked goroutines" < <(
	gofiles | grep -v '_test\.go$' | xargs -r grep -LE '^package main$' | xargs -r -n1 dirname | sort -u |
		while read -r folder; do
			grep -qs 'goleak\.VerifyTestMain(' "$folder"/*_test.go || echo "$folder"
		done)
gofiles | xargs -r wc -l | awk '$2 != "total" && $1 > 400 { print "warning: " $2 " has " $1 " lines, more than 400" }'

# It fetches a database, which not every machine can reach.
if timeout 20 "$bin/govulncheck" -version | grep -q '^DB updated: [0-9]'; then
	for module in $(modules); do
		[ "$(workspace "$module")" = off ] || passes within "$module" "$bin/govulncheck" ./...
	done
else
	echo "govulncheck: left out, its database (vuln.go.dev) cannot be reached from here"
fi

if [ "$failed" != 0 ]; then
	echo "check: failed" >&2
	exit 1
fi
echo "check: passed"
