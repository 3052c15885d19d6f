# The control plane for tests and the demo. Included by the Makefile at the root.

.PHONY: devcluster

devcluster: ## Build etcd and kube-apiserver into .build, once (6 to 12 minutes when nothing is cached)
	@go run ./internal/devcluster/build
