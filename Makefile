# Two commands are enough for a start:
#
#	go run ./cmd/gateway demo
#	make test

SHELL       := /bin/bash
.SHELLFLAGS := -eo pipefail -c

# Everything but the tests in containers, which have a target of their own.
PACKAGES  ?= $$(go list ./... | grep -v /e2e$$)
RACE      ?= -race
TESTFLAGS ?=
FUZZTIME  ?= 60s
BENCH     ?= .
COUNT     ?= 6

# Tools are built by go when first used, at the versions in tools/, and kept in its build cache.
TOOL := go tool -modfile=tools/go.mod
BUF  := go tool -modfile=tools/buf/go.mod buf
LINT := go tool -modfile=tools/lint/go.mod golangci-lint

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: prepare
prepare: ## Set up what the tests use, below .cache/.
	tools/prepare.sh

.PHONY: test
test: prepare ## Run all tests with the race detector. PACKAGES=./hub/... TESTFLAGS='-run Put' narrow it.
	source .cache/test.env && $(TOOL) gotestsum --format pkgname --hide-summary=skipped -- \
		$(RACE) -timeout 10m $(TESTFLAGS) $(PACKAGES)

.PHONY: e2e
e2e: ## Run the tests in containers, with Docker. TESTFLAGS='-run Latency -out DIR' narrow it.
	tools/prepare.sh docker
	source .cache/test.env && tools/with-docker.sh $(TOOL) gotestsum --format testname --hide-summary=skipped -- \
		$(RACE) -count 1 -timeout 15m -parallel 4 ./e2e $(TESTFLAGS)

.PHONY: lint
lint: ## Run the linters, check the format and the .proto files, those also against proto/baseline.binpb.
	$(LINT) run
	@! compgen -G 'proto/*/*/*.proto' >/dev/null || { $(BUF) lint && $(BUF) format --diff --exit-code && $(BUF) breaking --against proto/baseline.binpb; }
	@! command -v shellcheck >/dev/null || shellcheck tools/*.sh tools/cluster/*.sh deploy/*.sh .ci/run

.PHONY: format
format: ## Format the Go code.
	$(LINT) fmt

.PHONY: generate
generate: ## Make the generated code anew.
	@! compgen -G 'proto/*/*/*.proto' >/dev/null || $(BUF) generate
	go generate ./...

.PHONY: baseline
baseline: ## At a release: make its protocol the one with which later ones have to be compatible.
	$(BUF) build --exclude-source-info -o proto/baseline.binpb

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (60s). PACKAGES=./bus narrows it.
	FUZZTIME=$(FUZZTIME) tools/fuzz.sh $(PACKAGES)

.PHONY: bench
bench: ## Run the benchmarks COUNT (6) times each. BENCH=Fan PACKAGES=./hub narrow it.
	@mkdir -p .cache
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PACKAGES) | tee .cache/bench.txt
	$(TOOL) benchstat .cache/bench.txt

.PHONY: clean
clean: ## Remove what make set up.
	rm -rf .cache
