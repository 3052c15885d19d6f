//go:build race

package kube

// scribble says whether memory that was given back is overwritten at once, so that tests see who kept some of it.
const scribble = true
