//go:build !race

package kube

const scribble = false
