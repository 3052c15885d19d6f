package kube

// NewObject makes an object of encoded bytes, for tests and benchmarks of just that.
var NewObject = newObject

// PageTitle is for the fuzz test.
var PageTitle = pageTitle
