package command

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// connection is where the user wants to go.
type connection struct {
	config    *rest.Config
	namespace string // the default one
	place     place
}

// connect reads the kubeconfig and the flags. Errors are one line each and say what to do.
func connect(flags *genericclioptions.ConfigFlags) (*connection, error) {
	loader := flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, &problem{text: "kubeconfig: " + oneLine(err.Error()), hint: "check --kubeconfig and KUBECONFIG", err: err}
	}
	if clientcmdapi.IsConfigEmpty(&raw) && *flags.APIServer == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == "" && os.Getenv("KUBERNETES_MASTER") == "" {
		return nil, &problem{
			text: "no cluster is configured: there is no kubeconfig at " + strings.Join(kubeconfigs(flags), ", "),
			hint: "give --kubeconfig, set KUBECONFIG, or give --server", err: clientcmd.ErrEmptyConfig,
		}
	}
	c := &connection{}
	c.config, err = flags.ToRESTConfig()
	if err == nil {
		c.namespace, _, err = loader.Namespace()
	}
	if err != nil {
		hint := "check the kubeconfig"
		if names := slices.Sorted(maps.Keys(raw.Contexts)); strings.Contains(err.Error(), "context") && len(names) > 0 {
			hint = "choose another --context: there is " + strings.Join(names, ", ")
		}
		return nil, &problem{text: "kubeconfig: " + oneLine(flat(err).Error()), hint: hint, err: err}
	}
	c.place = place{c.config.Host, raw.CurrentContext}
	if *flags.Context != "" {
		c.place.context = *flags.Context
	}
	c.config.UserAgent = "tarn/" + strings.Trim(readVersion().Version, "()") + " " + rest.DefaultKubernetesUserAgent()
	c.config.QPS, c.config.Burst = 50, 100
	return c, nil
}

// flat returns the first of several errors, which clientcmd wraps as a list.
func flat(err error) error {
	var list interface{ Errors() []error }
	if errors.As(err, &list) && len(list.Errors()) > 0 {
		return list.Errors()[0]
	}
	return err
}

// kubeconfigs returns the files in which a kubeconfig was looked for.
func kubeconfigs(flags *genericclioptions.ConfigFlags) []string {
	if *flags.KubeConfig != "" {
		return []string{*flags.KubeConfig}
	}
	return clientcmd.NewDefaultPathOptions().GetLoadingPrecedence()
}

// target says in words where is watched.
func (o *watchOptions) target(namespaced bool) string {
	switch {
	case !namespaced:
		return ""
	case o.allNamespaces:
		return " in all namespaces"
	}
	return fmt.Sprintf(" in namespace %q", o.conn.namespace)
}
