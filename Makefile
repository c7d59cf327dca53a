# The short way in: every target does its own set-up. The logic is in scripts/ and in CMake.
.PHONY: all setup build demo examples everything test test-all web web-serve web-test format format-check generated generated-check smoke mutation bench symbols clean

BUILD := $(or $(KN_BUILD_ROOT),build)

all: build

setup:
	@scripts/setup.sh

# The library and the command line, with kernels for this machine. KN_TIERS=all makes a library to hand out.
build:
	@scripts/setup.sh build
	@scripts/build.sh release -DKN_TIERS=$(or $(KN_TIERS),host) -- kiln kiln_static kiln_tool

demo:
	@scripts/setup.sh build
	@scripts/build.sh release -DKN_TIERS=$(or $(KN_TIERS),host) -- example_mnist
	@. scripts/environment.sh && own_folder $(BUILD)/demo
	@$(BUILD)/release/examples/mnist --folder $(BUILD)/demo

# The programs of examples/, in $(BUILD)/release/examples.
examples:
	@scripts/setup.sh build
	@scripts/build.sh release -DKN_TIERS=$(or $(KN_TIERS),host) -- kiln kiln_static kiln_tool examples

everything: setup
	@scripts/build.sh release

# WebAssembly: the npm package in $(BUILD)/web/kiln, the pages on a local server, and all their tests.
web:
	@scripts/setup.sh web
	@scripts/web.sh

web-serve: web
	@node web/serve.mjs --root $(BUILD)/web $(if $(PORT),--port $(PORT))

web-test: web
	@scripts/setup.sh
	@tests/web/run_web.sh --train

test: setup
	@scripts/test.sh

test-all: setup
	@scripts/test_all.sh

smoke: setup
	@scripts/smoke.sh

# Breaks the library on purpose, one small edit at a time, and fails when the tests do not notice.
mutation: setup
	@python3 tests/mutation/mutations.py $(BUILD)/mutation
	@python3 tests/mutation/seeded.py $(BUILD)/mutation/seeded --jobs 2

format: setup
	@scripts/format.sh

format-check: setup
	@scripts/format.sh --check

generated: everything
	@scripts/generated.sh

generated-check: everything
	@scripts/generated.sh --check

symbols: everything
	@python3 tests/structure/check_symbols.py --write $(BUILD)/release/libkiln.so

bench: build
	@$(BUILD)/release/kiln bench overhead

clean:
	@scripts/clean.sh
