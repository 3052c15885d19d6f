#!/usr/bin/env bash
# Runs the tests: those of every module that need no server (unit), those that need the control plane (devcluster), and
# those that take too long for every day (soak). The last two expect the control plane to be built: see the Makefile.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

case ${1-} in
unit)
	for module in $(modules); do
		packages=$(packages "$module")
		[ -z "$packages" ] || within "$module" go test -race -timeout 10m $packages
	done
	# Informers again, with the other layout; what is about memory tests both in any case.
	within . go test -race -timeout 10m -skip Memory . -live
	;;
devcluster | soak)
	tags=devcluster timeout=25m
	[ "$1" = devcluster ] || tags=devcluster,soak timeout=3h
	packages=$(tagged "$1")
	# One package at a time, as each starts a control plane; never cached, as go does not see that program.
	[ -z "$packages" ] || within . go test -race -count=1 -p 1 -tags "$tags" -timeout "$timeout" $packages
	;;
*)
	echo "usage: $0 unit|devcluster|soak" >&2
	exit 2
	;;
esac
