#include "providers/local/limits.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/local/nat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILE_NAME "limits"
#define NEW_NAME  ".limits"
#define FORM      "cpus %lf memory %" SCNd64 " pids %" SCNd64 " network %d"

enum err local_limits_asked(
	const struct provider_config *cfg, struct local_limits *out, struct error *e)
{
	*out = (struct local_limits){
		.taken = { .cpus = cfg->cpus, .memory_mb = cfg->memory_mb, .pids = cfg->pids },
		.disk_mb = cfg->disk_mb,
		.network = cfg->block_network ? NETWORK_NONE : cfg->network,
	};
	if (cfg->block_network && (cfg->network == NETWORK_HOST || cfg->network == NETWORK_NAT))
		return error_set(e, ERR_INVALID, "local: '%s' and '%s%s': one of them",
			provider_option_name(cfg, OPTION_BLOCK_NETWORK),
			provider_option_name(cfg, OPTION_NETWORK),
			cfg->network == NETWORK_HOST ? "host" : "nat");
	return out->network == NETWORK_NAT ? nat_check(e) : ERR_OK;
}

/* ---- The file ---- */

static enum err parse(FILE *file, struct local_limits *out, struct error *e)
{
	int network = 0;

	if (fscanf(file, FORM, &out->taken.cpus, &out->taken.memory_mb, &out->taken.pids,
		    &network) != 4 ||
		network < NETWORK_DEFAULT || network > NETWORK_NAT)
		return error_set(e, ERR_INVALID,
			"local: the sandbox's file 'limits' cannot be read; remove it, and give "
			"the options again");
	out->network = (enum network)network;
	return ERR_OK;
}

enum err local_limits_read(int sandbox, struct local_limits *l, struct error *e)
{
	AUTO_CLOSE int fd = openat(sandbox, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct local_limits kept = { 0 };
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	enum err kind;

	if (!file)
		return errno == ENOENT ? ERR_OK : error_errno(e, errno, "local: limits");
	take_fd(&fd);
	kind = parse(file, &kept, e);
	fclose(file);
	l->taken.cpus = l->taken.cpus > 0 ? l->taken.cpus : kept.taken.cpus;
	l->taken.memory_mb = l->taken.memory_mb ? l->taken.memory_mb : kept.taken.memory_mb;
	l->taken.pids = l->taken.pids ? l->taken.pids : kept.taken.pids;
	l->network = l->network ? l->network : kept.network;
	return kind;
}

enum err local_limits_write(int sandbox, const struct local_limits *l, struct error *e)
{
	char text[200];
	int len = snprintf(text, sizeof text,
		"cpus %f\nmemory %" PRId64 "\npids %" PRId64 "\nnetwork %d\n", l->taken.cpus,
		l->taken.memory_mb, l->taken.pids, (int)l->network);
	AUTO_CLOSE int fd = openat(
		sandbox, NEW_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, (size_t)len) != len ||
		renameat(sandbox, NEW_NAME, sandbox, FILE_NAME))
		return error_errno(e, errno, "local: limits");
	return ERR_OK;
}

/* ---- Applying limits ---- */

enum err local_limits_bound(const struct local_limits *l, const struct provider_config *cfg,
	struct cgroup *out, struct error *e)
{
	bool is_asked = provider_options_asked(cfg) & (OPTION_MEMORY | OPTION_PIDS);
	struct cgroup_limits limits = l->taken;
	struct error why = { 0 };
	char name[128];

	*out = CGROUP_NONE;
	if (limits.cpus <= 0 && !limits.memory_mb && !limits.pids)
		return ERR_OK;
	limits.pids = limits.pids ? limits.pids : LOCAL_PIDS;
	snprintf(name, sizeof name, "sandboxfs-%s-%d", cfg->id, (int)getpid());
	if (!cgroup_make(out, name, &limits, &why))
		return ERR_OK;
	if (limits.cpus > 0)
		return error_set(e, ERR_UNSUPPORTED,
			"local: '%s' needs a cgroup (%s): run this as root or under "
			"systemd-run --user --scope, or leave it out",
			provider_option_name(cfg, OPTION_CPUS), why.text);
	log_line(LOG_PROVIDER, is_asked ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
		"local:%s: rlimits bound memory of each process and processes of each command "
		"(%s); with a cgroup, as under systemd-run --user --scope, it is that of all",
		cfg->id, why.text);
	return ERR_OK;
}

void local_limits_text(const struct local_limits *l, const char *by, char *out, size_t size)
{
	static const char *const networks[] = {
		[NETWORK_DEFAULT] = "this machine's network",
		[NETWORK_HOST] = "this machine's network",
		[NETWORK_NONE] = "no network",
		[NETWORK_NAT] = "a network behind an address translation",
	};
	int64_t pids = l->taken.pids ? l->taken.pids : LOCAL_PIDS;
	char cpus[48] = "", memory[48] = "", disk[48] = "";

	if (l->taken.cpus > 0)
		snprintf(cpus, sizeof cpus, "%g processors, ", l->taken.cpus);
	if (l->taken.memory_mb)
		snprintf(memory, sizeof memory, "%" PRId64 " MiB of memory, ", l->taken.memory_mb);
	if (l->disk_mb)
		snprintf(disk, sizeof disk, "; %" PRId64 " MiB of disk", l->disk_mb);
	snprintf(out, size, "%s%s%" PRId64 " processes%s%s%s; %s", cpus, memory, pids,
		by ? ", by " : "", by ? by : "", disk, networks[l->network]);
}
