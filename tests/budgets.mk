# `make budgets`: the requests that everyday work takes, by vendor, held against tests/budgets/allowed.py. Each vendor's are a
# test, too: budgets:VENDOR.
#
#	make budgets BUDGETS='--vendors e2b --works grep,status'

BUDGETS ?=

.PHONY: budgets
# Makes of its own, because nothing may be compiled before what compiling needs is there.
budgets:
	$(Q)sh tools/setup.sh build tests
	$(Q)$(MAKE) --no-print-directory programs test-servers
	$(Q)python3 -B tests/budgets/budgets.py --sandboxfs $(BIN)/sandboxfs $(BUDGETS)
