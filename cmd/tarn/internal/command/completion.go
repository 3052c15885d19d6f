package command

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
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

// completeTime is how long completing waits for the server: nobody presses tab for an error.
const completeTime = 3 * time.Second

// completeNamespaces offers the namespaces of the server, as far as it lets the user list them.
func (o *watchOptions) completeNamespaces(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	client, err := o.flags.ToDiscoveryClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	raw, err := client.RESTClient().Get().AbsPath("/api/v1/namespaces").SetHeader("Accept", "application/json").Do(ctx).Raw()
	var list corev1.NamespaceList
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, ns := range list.Items {
		if strings.HasPrefix(ns.Name, typed) {
			names = append(names, ns.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
