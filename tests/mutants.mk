# Planted mistakes: each of tests/mutants/*.mutants is applied to a copy of the tree, where a test
# has to find it. Part of a release's run, not of `make check`: every mutant costs a compilation,
# links and a test.

#: make mutants         planted mistakes, each of which a test has to find (MUTANTS=--help)

.PHONY: mutants mutant-mounts
mutants: mutant-mounts $(TEST_LAYERS:%=$B/test-%)
	$(Q)$(TEST_ENV) tests/mutants/run.py --build $B $(MUTANTS)

# What the script of a mount needs; Criterion's programs take the longest to link and are left out.
mutant-mounts: programs test-servers $(TEST_PROGRAMS:%=$(TEST_BIN)/%)
