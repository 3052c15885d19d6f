package devcluster

import "io"

// Option changes how a [Cluster] is started.
type Option func(*settings)

type settings struct {
	dataDir string
	output  io.Writer
	flags   []string // of devcluster
	extra   []string // of kube-apiserver
}

// DataDir keeps the state in this folder, and finds it there again. By default the folder is a temporary one that goes
// with the cluster.
func DataDir(dir string) Option { return func(s *settings) { s.dataDir = dir } }

// Output writes the progress that the start reports to w, one line at a time, from another goroutine.
func Output(w io.Writer) Option { return func(s *settings) { s.output = w } }

// Kubeconfig has the kubeconfig written to this file instead of one in the data folder.
func Kubeconfig(file string) Option {
	return func(s *settings) { s.flags = append(s.flags, "--kubeconfig="+file) }
}

// APIServerArgs passes further flags to kube-apiserver. They replace devcluster's own; feature gates and admission plugins are
// joined.
func APIServerArgs(args ...string) Option {
	return func(s *settings) { s.extra = append(s.extra, args...) }
}

// Emulate134 makes the server act like Kubernetes 1.34 without streaming lists: no sharded lists and watches, and versions
// that are not promised to compare.
func Emulate134() Option {
	return APIServerArgs("--emulated-version=1.34", "--feature-gates=WatchList=false")
}

// WithoutWatchCache makes the server answer lists and watches from etcd: after [Cluster.Compact] a watch from an older
// version gets 410 at once.
func WithoutWatchCache() Option { return APIServerArgs("--watch-cache=false") }
