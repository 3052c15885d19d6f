package command

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// versionOptions are the options of tarn version.
type versionOptions struct {
	streams genericiooptions.IOStreams
	output  string
}

func newVersion(streams genericiooptions.IOStreams) *cobra.Command {
	o := &versionOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this tarn was built from",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return o.Run() },
	}
	o.AddFlags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// AddFlags adds the flags to fs.
func (o *versionOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&o.output, "output", "o", "text", "text or json")
}

// Run prints the version.
func (o *versionOptions) Run() error {
	v := readVersion()
	switch o.output {
	case "json":
		encoder := json.NewEncoder(o.streams.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case "text":
		_, err := fmt.Fprintln(o.streams.Out, v)
		return err
	}
	return &usageError{fmt.Errorf("there is no output %q: take text or json", o.output), "tarn version"}
}

// version is what is known of a build; a field is empty where the build does not say.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	ClientGo string `json:"clientGo,omitempty"`
}

func readVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "k8s.io/client-go" {
			v.ClientGo = dep.Version
		}
	}
	return v
}

// String returns one line.
func (v version) String() string {
	s := "tarn " + v.Version
	if v.Revision != "" {
		s += fmt.Sprintf(" (%.12s of %s", v.Revision, v.Time)
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	s += ", " + v.Go + " " + v.Platform
	if v.ClientGo != "" {
		s += ", client-go " + v.ClientGo
	}
	return s
}
