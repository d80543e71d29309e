# make up     install what is needed, build, start the platform, deploy examples/shop.yaml
# make down   stop it and remove everything that it made
# make test   lint and all tests
# make openstack        an OpenStack with Catena on this machine (docs/openstack.md); BACKEND=catena|ovs
# make test-openstack   the tests against it, or against the cloud that OS_CLOUD names
# make openstack-down   stop it; openstack-wipe: and remove its data
SHELL := /bin/bash
export PATH := $(CURDIR)/build/tools/go/bin:/usr/local/go/bin:$(PATH)
export CGO_ENABLED ?= 0

.PHONY: up down build deps test-deps test lint unit generate clean openstack test-openstack openstack-down openstack-wipe

up: build
	@bin/catena up

down:
	@if [ -x bin/catena ]; then bin/catena down; else echo "catena is not built; nothing to stop"; fi

deps:
	@scripts/install-deps

test-deps:
	@scripts/install-deps test

build: deps
	@go build -o bin/catena ./cmd/catena

test: test-deps
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory unit

lint: test-deps
	@echo "lint: generated files"; cd api/generate && go run . -check
	@echo "lint: gofmt"; out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "not gofmt'ed: $$out"; exit 1; }
	@echo "lint: go vet"; go vet ./...
	@echo "lint: staticcheck"; go tool staticcheck ./...
	@echo "lint: shellcheck"; shellcheck $$(git grep -lE '^(#!.*sh$$|# shellcheck shell)' -- .ci deploy scripts)
	@echo "lint: ruff"; if git ls-files --error-unmatch '*.py' >/dev/null 2>&1; then build/tools/venv/bin/ruff check -q .; fi

unit: build
	@go test -timeout 20m ./...
	@neutron/test

openstack: build
	@deploy/openstack/up

# Its parts, for who has little time.
OPENSTACK_PARTS := $(addprefix test-openstack-,services faults users driver conformance)
# Scenarios of the suite of all clouds' drivers in -driver; the others, eight minutes, are in -conformance.
OPENSTACK_DRIVER := create,_observe|delete_what|missing|cancelled|damage
.PHONY: $(OPENSTACK_PARTS)
test-openstack $(OPENSTACK_PARTS): export OS_CLOUD ?= demo
test-openstack $(OPENSTACK_PARTS): export OS_CLIENT_CONFIG_FILE ?= $(or $(CATENA_OPENSTACK_STATE),/var/lib/catena-openstack)/clouds.yaml
test-openstack: $(OPENSTACK_PARTS)

test-openstack-services: build
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -timeout 60m -v -run 'TestUseCases|TestRefused' ./test/openstack

test-openstack-faults: build
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -timeout 60m -v -skip 'TestUseCases|TestRefused' ./test/openstack

test-openstack-users: build
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -timeout 60m -v ./test/openstack/users

test-openstack-driver: build
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -v ./deploy/openstack/image
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -timeout 60m -v -run 'Real/($(OPENSTACK_DRIVER))' ./internal/cloud/openstack

test-openstack-conformance: build
	@CATENA_TEST_OPENSTACK=fake go test -count=1 -timeout 60m -v -run ConformanceReal -skip 'Real/($(OPENSTACK_DRIVER))' ./internal/cloud/openstack

openstack-down:
	@deploy/openstack/down

openstack-wipe:
	@deploy/openstack/wipe

generate:
	@cd api/generate && go run .

clean:
	rm -rf bin build
