# Sourced by the other scripts: the modules of the repository, and the go command in one of them.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# files PATTERN... lists what is, or is about to be, in the repository.
files() {
	git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

# modules lists the folders of the modules, the root as ".".
modules() { files go.mod '*/go.mod' | xargs -n1 dirname | sort; }

# run prints a command and runs it.
run() {
	echo "+ $*"
	"$@"
}

# workspace DIR prints the GOWORK of a module: off where the workspace does not use it.
workspace() { grep -qxE "(use)?[[:space:]]*(\./)?${1//./\\.}" go.work || echo off; }

# within DIR COMMAND... runs a command in a module's folder.
within() {
	local dir=$1 work
	shift
	work=$(workspace "$dir")
	echo "+ ${work:+GOWORK=$work }$* (in $dir)"
	(cd "$dir" && GOWORK=$work "$@")
}

# packages DIR lists the packages of a module, save those that link a Kubernetes server: they take ten minutes to compile
# and have no tests of their own.
packages() {
	if [ "$(workspace "$1")" != off ]; then
		echo ./...
		return
	fi
	local format='{{.ImportPath}} {{join .Deps " "}}'
	(cd "$1" && GOWORK=off go list -f "$format" ./...) |
		awk '!/ k8s\.io\/kubernetes\/| go\.etcd\.io\/etcd\/server\// { print $1 }' | paste -sd' ' -
}

# tagged TAG lists the folders of the root module that have files under a build tag.
tagged() {
	files '*.go' | grep -v '^devcluster/' | { xargs -r grep -lE "^//go:build .*\b$1\b" || true; } |
		xargs -r -n1 dirname | sort -u | sed 's|^|./|' | paste -sd' ' -
}
