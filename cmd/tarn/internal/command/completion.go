package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completeResources offers the resources of the server that can be watched, the last of several after commas.
func (o *watchOptions) completeResources(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	client, err := o.flags.ToDiscoveryClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	lists, _ := client.ServerPreferredResources() // those of the groups that answer
	comma := strings.LastIndexByte(typed, ',') + 1
	var names []string
	for _, l := range lists {
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "list") && strings.HasPrefix(r.Name, typed[comma:]) {
				names = append(names, typed[:comma]+r.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// completeContexts offers the contexts of the kubeconfig.
func (o *watchOptions) completeContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	raw, err := o.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
