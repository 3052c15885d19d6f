# Everything that is built goes to .build and bin; nothing is installed.

.DEFAULT_GOAL := help
.PHONY: help build demo test check fuzz soak bench hotpaths clean

FUZZTIME ?= 60

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the library and the command (bin/tarn)
	go build ./...
	go -C cmd/tarn build -o ../../bin/tarn .

demo: build devcluster ## Show tarn at work on a control plane of its own, until Ctrl-C or for DEMO_SECONDS
	go -C cmd/tarn build -o ../../bin/demo ./internal/demo
	@exec bin/demo

test: ## Run all tests, with -race, the control plane included (under 25 minutes once that is built)
	@scripts/test.sh unit
	@$(MAKE) --no-print-directory devcluster
	@scripts/test.sh devcluster
	@scripts/fuzz.sh 5 120

check: ## Check format, vet, staticcheck, modules and the rules of the house
	@scripts/check.sh

fuzz: ## Run every fuzz target for FUZZTIME seconds (60)
	@scripts/fuzz.sh $(FUZZTIME)

soak: devcluster ## Run what takes hours: the tests under the tag soak, then each fuzz target for ten minutes
	@scripts/test.sh soak
	@scripts/fuzz.sh 600

bench: ## Compare tarn with client-go and others, BENCHFLAGS="--help" says how (under 8 minutes)
	@go -C bench run . $(BENCHFLAGS)

hotpaths: ## Run the benchmarks of the hot paths and compare them with the baseline (SAVE=--save makes a new one)
	@scripts/benchmarks.sh $(SAVE)

clean: ## Remove what was built, the control plane too
	rm -rf .build bin

include devcluster/build.mk
