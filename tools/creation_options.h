/*
 * creation_options.h - the options of a new sandbox, a row each: with their names in mount options
 * (options.c) and in sandboxctl (new_sandbox.c). Two options differ between the programs and stand
 * there: env, whose value sandboxctl also takes from its environment, and lifetime=, which is
 * --timeout there.
 *
 *      VALUE(bit, letter, field, setter, name, word, argument, help)   -o name=VALUE, --word=VALUE
 *      FLAG(bit, letter, field, setter, name, word, argument, help)    -o name, --word
 *
 * `bit` is of enum provider_option; `letter` is sandboxctl's, 0: none; `field` is of struct
 * creation; `setter` is of option_values.h. The rows have commas between. The last row has a second
 * name in sandboxctl, which follows there.
 */
#pragma once

#define CREATION_OPTIONS(VALUE, FLAG)                                                              \
	VALUE(OPTION_LABELS, 'l', labels, option_set_label, "label", "label", "KEY=VALUE",         \
		"by which sandboxctl list finds the sandbox; may be repeated"),                    \
		VALUE(OPTION_NAME, 'n', name, option_set_text, "name", "name", "NAME",             \
			"its name, for people"),                                                   \
		VALUE(OPTION_CPUS, 0, cpus, option_set_cpus, "cpus", "cpus", "NUMBER",             \
			"its processors, as in 0.5"),                                              \
		VALUE(OPTION_MEMORY, 'm', memory_mb, option_set_size, "memory", "memory", "SIZE",  \
			"its memory, as in 512M"),                                                 \
		VALUE(OPTION_DISK, 0, disk_mb, option_set_size, "disk", "disk", "SIZE",            \
			"its disk, as in 10G"),                                                    \
		VALUE(OPTION_GPU, 0, gpu, option_set_text, "gpu", "gpu", "KIND",                   \
			"its graphics processor, in the provider's words"),                        \
		VALUE(OPTION_REGION, 0, region, option_set_text, "region", "region", "NAME",       \
			"where it is made, in the provider's words"),                              \
		VALUE(OPTION_IDLE, 0, idle_ms, option_set_seconds, "idle", "idle", "SECONDS",      \
			"it ends, or is paused, after so long without use"),                       \
		VALUE(OPTION_DELETE_AFTER, 0, delete_after_ms, option_set_seconds, "delete_after", \
			"delete-after", "SECONDS",                                                 \
			"it is deleted when it was stopped for so long"),                          \
		VALUE(OPTION_ARCHIVE_AFTER, 0, archive_after_ms, option_set_seconds,               \
			"archive_after", "archive-after", "SECONDS",                               \
			"it moves to cheaper storage when it was stopped for so long"),            \
		VALUE(OPTION_LANGUAGE, 0, language, option_set_text, "language", "language",       \
			"NAME", "what code it is to run, in the provider's words, as in python"),  \
		VALUE(OPTION_PIDS, 0, pids, option_set_pids, "pids", "pids", "NUMBER",             \
			"its processes and threads at one time"),                                  \
		VALUE(OPTION_NETWORK, 0, network, option_set_choice, "network", "network",         \
			"auto|host|none|nat",                                                      \
			"what its programs reach: host, what this machine does, its own ports "    \
			"included; nat, the same without these; none, only each other in one "     \
			"command; auto, the provider's default"),                                  \
		FLAG(OPTION_BLOCK_NETWORK, 0, block_network, option_set_flag, "block_network",     \
			"block-network", NULL, "its programs reach nothing outside"),              \
		VALUE(OPTION_ALLOW, 0, allowed, option_set_allowed, "allow", "allow", "HOST|CIDR", \
			"its programs reach this alone, as in pypi.org, *.npmjs.org, "             \
			"10.0.0.0/8; may be repeated"),                                            \
		VALUE(OPTION_PORTS, 0, ports, option_set_port, "port", "port", "PORT",             \
			"a port that is to have a URL, where the provider must know it before; "   \
			"may be repeated"),                                                        \
		VALUE(OPTION_TEMPLATE, 0, template, option_set_text, "template", "template",       \
			"NAME",                                                                    \
			"what it is made from, in the provider's words: a template, a snapshot, "  \
			"a blueprint"),                                                            \
		VALUE(OPTION_IMAGE, 'i', image, option_set_text, "image", "image", "NAME",         \
			"the container image of a registry that it is made from, as in "           \
			"python:3.11-slim")
