# try    builds nimlet and has it read, grep and edit a file of a sample workspace: no key, no network
# test   runs all tests
# check  runs what must hold before a change goes in: formatting, vet for three systems, lint, size, fuzzing, tests
# fuzz   runs each fuzz target for a while (FUZZTIME=30s)
# bench  runs the benchmarks, with their yardsticks
.PHONY: build try test check fuzz bench

build:
	CGO_ENABLED=0 go build -trimpath -o nimlet .

try: build
	@examples/try

test:
	go test ./...

check:
	.ci/run

fuzz:
	.ci/run fuzz

bench:
	go test -run '^$$' -bench . -benchmem ./...
