package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
)

const watchLong = `Watch resources and print every change: which object, which of its fields, from what to what.

RESOURCE is what kubectl takes: pods, po, deploy, deployments.apps, certificates.cert-manager.io. Several may be given,
with spaces or commas, and come in one stream.

What is there already is counted in one line, not printed; --initial prints it first, --once prints it and ends.
A lost connection is made again, a restarted server is caught up with: what changed meanwhile is printed as well. If an
object changed several times in between, that is one line, from what was printed last to what it is now.

A table shows per change the time, + for a new object, ~ for a changed one, - for a deleted one, and the fields that
changed, what matters first; -o diff shows all of them. metadata.resourceVersion and metadata.managedFields change all the
time and are left out, except with --all-fields. Items of lists go by their names: status.conditions[Ready].status.

With --initial, = stands for an object that was there already. With --wait, what is there is watched, and what is not yet
as soon as it appears.

-o json is one object per line:
  type                     added, updated, deleted, or present (there already: --initial, --once)
  time, resource, kind     when it was seen, and what kind of object it is: pods, Pod
  key, uid                 namespace/name, or name; and its UID
  oldVersion, newVersion   resource versions; the old one only of updated and deleted
  changes                  of updated, a list: path; kind (added, removed, changed, reordered); old and new, the values
  old, new                 the whole object before and now; of deleted, old is its last state
  missed                   true for a deletion that nobody saw, which a later list showed
  error                    why the object cannot be read; old and new are then missing

Messages go to stderr, changes to stdout. Ctrl-C ends it with a summary. The exit code is 0, after Ctrl-C as well, and 1
after an error.`

const watchExamples = `  # What happens to the pods of the current namespace
  tarn watch pods

  # Why is the rollout stuck: its deployment, replica sets and pods in one stream
  tarn watch deploy,rs,pods -n shop -l app=web

  # Who changes this config map, and what in it, line by line
  tarn watch cm -n shop --field-selector metadata.name=web-config -o diff --all-fields

  # Every pod of the cluster that enters or leaves a phase
  tarn watch pods -A -o json | jq -r 'select(any(.changes[]?; .path == "status.phase")) | .key + " " + .new.status.phase'

  # The state as it is, then the end
  tarn watch nodes --once

  # Start before the custom resource exists, or before the server is up
  tarn watch certificates.cert-manager.io -A --wait`

// watchOptions are the options of tarn watch.
type watchOptions struct {
	streams genericiooptions.IOStreams
	flags   *genericclioptions.ConfigFlags

	allNamespaces, once, initial, wait, allFields, verbose bool
	selector, fieldSelector, output, color                 string
	maxChanges                                             int

	// names are the resources as they were typed, and conn is where they are; by Complete.
	names []string
	conn  *connection
}

func newWatch(streams genericiooptions.IOStreams) *cobra.Command {
	o := &watchOptions{streams: streams, flags: genericclioptions.NewConfigFlags(true)}
	o.flags.Timeout = nil // it would end every watch
	cmd := &cobra.Command{
		Use:     "watch RESOURCE...",
		Short:   "Print every change of resources, with the fields that changed",
		Long:    watchLong,
		Example: watchExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Complete(args); err != nil {
				return err
			}
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: o.completeResources,
	}
	o.AddFlags(cmd.Flags())
	fixed := func(flag string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("output", printer.Formats...)
	fixed("color", colors...)
	fixed("selector")
	fixed("field-selector")
	_ = cmd.RegisterFlagCompletionFunc("context", o.completeContexts)
	_ = cmd.RegisterFlagCompletionFunc("namespace", o.completeNamespaces)
	return cmd
}

// AddFlags adds the flags to fs, kubectl's connection flags among them.
func (o *watchOptions) AddFlags(fs *pflag.FlagSet) {
	o.flags.AddFlags(fs)
	fs.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "watch all namespaces")
	fs.StringVarP(&o.selector, "selector", "l", "", "only objects with these labels: app=web,tier!=cache")
	fs.StringVar(&o.fieldSelector, "field-selector", "", "only objects with these fields: spec.nodeName=n7, metadata.name=web-1")
	fs.StringVarP(&o.output, "output", "o", "table", strings.Join(printer.Formats, ", "))
	fs.BoolVar(&o.once, "once", false, "print the current state and end")
	fs.BoolVar(&o.initial, "initial", false, "print what is there already before the changes")
	fs.BoolVar(&o.wait, "wait", false, "wait for a resource, right or server that is not there yet, instead of ending")
	fs.BoolVar(&o.allFields, "all-fields", false, "show changes of metadata.resourceVersion and metadata.managedFields, too, and the latter in whole objects")
	fs.IntVar(&o.maxChanges, "max-changes", 5, "how many changed fields a line of the table shows at most")
	fs.StringVar(&o.color, "color", "auto", "auto (on a terminal, unless NO_COLOR is set), always or never")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "log to stderr each request to the server with its answer, and what the watching makes of it")
	fs.BoolP("watch", "w", true, "watching is what it does; taken because kubectl get takes it")
	_ = fs.MarkHidden("watch")
}

// Complete takes the arguments, checks the options and reads the kubeconfig.
func (o *watchOptions) Complete(args []string) error {
	for _, arg := range args {
		for name := range strings.SplitSeq(arg, ",") {
			if name = strings.TrimSpace(name); name != "" {
				o.names = append(o.names, name)
			}
		}
	}
	if err := o.validate(); err != nil {
		return &usageError{err, "tarn watch"}
	}
	var err error
	o.conn, err = connect(o.flags)
	return err
}

func (o *watchOptions) validate() error {
	if len(o.names) == 0 {
		return fmt.Errorf(`say what to watch, for example "tarn watch pods"`)
	}
	for _, name := range o.names {
		if resource, object, ok := strings.Cut(name, "/"); ok {
			return fmt.Errorf("%q names one object: take %q", name, o.watchOne(resource, object))
		}
	}
	if !slices.Contains(printer.Formats, o.output) {
		return fmt.Errorf("there is no output %q: take one of %s", o.output, strings.Join(printer.Formats, ", "))
	}
	if !slices.Contains(colors, o.color) {
		return fmt.Errorf("there is no --color=%s: take one of %s", o.color, strings.Join(colors, ", "))
	}
	if o.once && o.output == "diff" {
		return fmt.Errorf("-o diff shows changes, and with --once there are none: leave out one of them")
	}
	if o.maxChanges < 1 {
		return fmt.Errorf("--max-changes=%d: at least 1", o.maxChanges)
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return fmt.Errorf("--selector %q: %w", o.selector, err)
	}
	if _, err := fields.ParseSelector(o.fieldSelector); err != nil {
		return fmt.Errorf("--field-selector %q: %w", o.fieldSelector, err)
	}
	return nil
}

// Run watches until ctx ends, which is no error.
func (o *watchOptions) Run(ctx context.Context) error {
	out, errOut := o.screens()
	w, err := newWatching(o, out, errOut)
	if err != nil {
		return err
	}
	defer w.hub.Close()
	return w.run(ctx)
}
