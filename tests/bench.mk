# `make bench`: the workloads of tests/bench beside other remote file systems; BENCH says more (BENCH=--help).
#
#	make bench BENCH='--systems sshfs,rclone --workloads list,read --links 40:100'
#
# `make bench LINKS=1`: everyday work through links as people have them, beside the least that each
# link allows (tests/bench/links.py; BENCH=--help).
#
#	make bench LINKS=1 BENCH='--links uneven,dying --ways tls,sshfs'

BENCH         ?=
BENCH_RESULTS ?= build/bench/results.jsonl

.PHONY: bench bench-table
# Makes of its own, because nothing may be compiled before what compiling needs is there.
bench:
	$(Q)sh tools/setup.sh build bench $(if $(LINKS),tests)
	$(Q)$(MAKE) --no-print-directory programs test-servers $(TEST_BIN)/relay
	$(Q)python3 -B tests/bench/$(if $(LINKS),links,bench).py --sandboxfs $(BIN)/sandboxfs --relay $(TEST_BIN)/relay $(BENCH)

# Into tests/bench/README.md what the last run measured, or several (BENCH_RESULTS='FILE FILE', as
# --results named them), and of runs over ssh into README.md.
bench-table:
	$(Q)python3 -B tests/bench/readme.py tests/bench/README.md $(BENCH_RESULTS)
	$(Q)python3 -B tests/support/tables.py write
