#include "tools/config.h"

#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static void forget_environment(void)
{
	unsetenv("SANDBOXFS_LOG");
}

static bool says(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

TestSuite(config, .timeout = 300, .init = forget_environment);

#define WORDS_MAX 16

/* Splits `line` at blanks, as a shell would, and parses it. */
static enum err parse(struct config *c, const char *line, struct error *e)
{
	AUTO_FREE char *copy = strdup(line);
	char *argv[WORDS_MAX + 1] = { 0 };
	int argc = 0;
	char *rest = copy;

	for (char *word; (word = strsep(&rest, " ")) && argc < WORDS_MAX;)
		argv[argc++] = word;
	return config_parse(c, argc, argv, e);
}

static void must_parse(struct config *c, const char *line)
{
	struct error e = { 0 };

	cr_assert(eq(int, parse(c, line, &e), ERR_OK), "%s: %s", line, e.text);
}

Test(config, takes_options_anywhere_and_in_every_spelling)
{
	static const char *const lines[] = {
		"sandboxfs local:x /mnt -o ro,user=bob -d",
		"sandboxfs -d -o ro -o user=bob local:x /mnt",
		"sandboxfs local:x -oro,user=bob /mnt -d",
		"sandboxfs -d local:x /mnt -o ,ro,,user=bob,",
		"sandboxfs -d -o ro,user=bob -- local:x /mnt",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		AUTO_CONFIG struct config c = { 0 };

		must_parse(&c, lines[i]);
		cr_expect(eq(str, c.source, "local:x"), "%s", lines[i]);
		cr_expect(eq(str, c.mountpoint, "/mnt"), "%s", lines[i]);
		cr_expect(eq(str, c.user, "bob"), "%s", lines[i]);
		cr_expect(eq(int, c.read_only, 1), "%s", lines[i]);
		cr_expect(eq(int, c.debug, 1), "%s", lines[i]);
	}
}

Test(config, has_the_documented_defaults)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs local:x /mnt");
	cr_expect(eq(i64, c.attr_ms, 1000));
	cr_expect(eq(i64, c.entry_ms, 1000));
	cr_expect(eq(i64, c.exec_timeout_ms, 1800000));
	cr_expect(eq(i64, c.progress_ms, 0));
	cr_expect(eq(i64, c.threads_max, 64));
	cr_expect(eq(int, c.helper, HELPER_AUTO));
	cr_expect(eq(int, c.symlinks, SYMLINKS_REWRITE));
	cr_expect(eq(int, c.foreground, 0));
	cr_expect(eq(ptr, (char *)config_log_spec(&c), NULL));
}

Test(config, understands_each_value)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c,
		"sandboxfs local:x /mnt -o "
		"attr_timeout=0.25,entry_timeout=0,exec_timeout=5,timeout=0 "
		"-o cache=/var/cache/sbx,cache_size=2G,journal=/var/lib/sbx,journal_size=64M "
		"-o helper=process,symlinks=raw,idmap=user,max_threads=7,uid=1234,gid=5678 "
		"-o "
		"key_file=/k,keep,list_control,nonempty,allow_other,log=warn:fs=debug");
	cr_expect(eq(str, c.cache, "/var/cache/sbx"));
	cr_expect(eq(i64, c.cache_mb, 2048));
	cr_expect(eq(str, c.journal, "/var/lib/sbx"));
	cr_expect(eq(i64, c.journal_mb, 64));
	cr_expect(eq(i64, c.attr_ms, 250));
	cr_expect(eq(i64, c.entry_ms, 0));
	cr_expect(eq(i64, c.exec_timeout_ms, 5000));
	cr_expect(eq(i64, c.progress_ms, -1), "none, and not the default");
	cr_expect(eq(int, c.helper, HELPER_PROCESS));
	cr_expect(eq(int, c.symlinks, SYMLINKS_RAW));
	cr_expect(eq(int, c.idmap, IDMAP_USER));
	cr_expect(eq(i64, c.threads_max, 7));
	cr_expect(eq(i64, c.uid, 1234));
	cr_expect(eq(i64, c.gid, 5678));
	cr_expect(eq(str, c.key_file, "/k"));
	cr_expect(c.keep && c.list_control && c.nonempty && c.allow_other);
	cr_expect(eq(str, (char *)config_log_spec(&c), "warn,fs=debug"));
}

Test(config, says_what_waits_for_the_sandbox)
{
	static const struct {
		const char *line;
		int close_waits, write_through, excl_remote;
	} rows[] = {
		{ "sandboxfs local:x /mnt", 0, 0, 0 },
		{ "sandboxfs local:x /mnt -o close=wait", 1, 0, 0 },
		{ "sandboxfs local:x /mnt -o close=wait,close=async", 0, 0, 0 },
		{ "sandboxfs local:x /mnt -o sync", 0, 1, 0 },
		{ "sandboxfs local:x /mnt -o dirsync", 0, 1, 0 },
		{ "sandboxfs local:x /mnt -o sync,async", 0, 0, 0 },
		{ "sandboxfs local:x /mnt -o excl=remote", 0, 0, 1 },
		{ "sandboxfs local:x /mnt -o excl=remote,excl=auto", 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_CONFIG struct config c = { 0 };

		must_parse(&c, rows[i].line);
		cr_expect(eq(int, c.close_waits, rows[i].close_waits), "%s", rows[i].line);
		cr_expect(eq(int, c.write_through, rows[i].write_through), "%s", rows[i].line);
		cr_expect(eq(int, c.excl_remote, rows[i].excl_remote), "%s", rows[i].line);
	}
}

Test(config, says_what_becomes_of_changes_when_the_journal_is_full)
{
	static const struct {
		const char *line;
		int full_fails;
	} rows[] = {
		{ "sandboxfs local:x /mnt", 0 },
		{ "sandboxfs local:x /mnt -o journal_full=fail", 1 },
		{ "sandboxfs local:x /mnt -o journal_full=fail,journal_full=wait", 0 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_CONFIG struct config c = { 0 };

		must_parse(&c, rows[i].line);
		cr_expect(eq(int, c.full_fails, rows[i].full_fails), "%s", rows[i].line);
	}
}

Test(config, tells_of_them_in_its_help)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	config_print_help(to);
	fclose(to);
	cr_expect(says(text, "close=async|wait"));
	cr_expect(says(text, "excl=auto|remote"));
	cr_expect(says(text, " sync "));
}

Test(config, finds_users_by_name)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs local:x /mnt -o uid=root,gid=root");
	cr_expect(eq(i64, c.uid, 0));
	cr_expect(eq(i64, c.gid, 0));
}

Test(config, lets_the_last_word_win)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs local:x /mnt -o ro,noexec,user=a -o rw,exec,user=b");
	cr_expect(eq(int, c.read_only, 0));
	cr_expect(eq(int, c.noexec, 0));
	cr_expect(eq(str, c.user, "b"));
}

Test(config, ignores_what_belongs_to_mount_and_fstab)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c,
		"sandboxfs local:x /mnt -n -t fuse.sandboxfs -o "
		"rw,defaults,auto,noauto,nofail,_netdev,user,users,owner,group,suid,dev,nosuid,"
		"nodev,"
		"sync,relatime,comment=any,x-systemd.automount,x-systemd.idle-timeout=60,X-mount."
		"mkdir,"
		"default_permissions,close=wait");
	cr_expect(eq(ptr, c.user, NULL), "fstab's `user` is not ours");
	AUTO_FREE char *kernel = config_kernel_options(&c);

	cr_expect(eq(str, kernel, "nosuid,nodev"));
}

Test(config, gives_the_kernel_its_options)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs local:x /mnt -o ro,noexec,suid,dev,noatime");
	AUTO_FREE char *kernel = config_kernel_options(&c);

	cr_expect(eq(str, kernel, "nosuid,nodev,ro,noexec,noatime"));
}

Test(config, the_helper_of_mount_reads_f_as_fake_and_s_as_sloppy)
{
	AUTO_CONFIG struct config helper = { 0 }, program = { 0 };

	must_parse(&helper,
		"/sbin/mount.fuse.sandboxfs local:x /mnt -s -f -n -v -o rw,bogus -t "
		"fuse.sandboxfs");
	cr_expect(eq(int, helper.fake, 1));
	cr_expect(eq(int, helper.foreground, 0));
	cr_expect(eq(str, (char *)config_log_spec(&helper), "info"));

	must_parse(&program, "/usr/bin/sandboxfs -f local:x /mnt -N /proc/1/ns/mnt");
	cr_expect(eq(int, program.fake, 0));
	cr_expect(eq(int, program.foreground, 1));
	cr_expect(eq(str, program.namespace, "/proc/1/ns/mnt"));
}

Test(config, needs_nothing_else_for_help_and_version)
{
	static const char *const lines[] = { "sandboxfs --help", "sandboxfs -h",
		"sandboxfs --version", "sandboxfs -V" };

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		AUTO_CONFIG struct config c = { 0 };

		must_parse(&c, lines[i]);
		cr_expect(eq(int, c.help + c.version, 1), "%s", lines[i]);
	}
}

Test(config, names_the_wrong_word_and_the_way_out)
{
	static const struct {
		const char *line, *says;
	} rows[] = {
		{ "sandboxfs", "the source is missing: sandboxfs SOURCE DIRECTORY" },
		{ "sandboxfs local:x", "the directory to mount on is missing" },
		{ "sandboxfs local:x /mnt more", "'more': one word too many" },
		{ "sandboxfs local:x /mnt -o allow_othr",
			"unknown option 'allow_othr'; did you mean 'allow_other'?" },
		{ "sandboxfs local:x /mnt -o usr=bob",
			"unknown option 'usr=bob'; did you mean 'user'?" },
		{ "sandboxfs local:x /mnt -o xyzzyplugh",
			"unknown option 'xyzzyplugh'; --help lists" },
		{ "sandboxfs local:x /mnt --hepl", "did you mean '--help'?" },
		{ "sandboxfs local:x /mnt -q", "unknown option '-q'" },
		{ "sandboxfs local:x /mnt -o", "option '-o': its value is missing" },
		{ "sandboxfs local:x /mnt -t", "option '-t': its value is missing" },
		{ "sandboxfs local:x /mnt -o user=", "option 'user=': NAME is missing" },
		{ "sandboxfs local:x /mnt -o attr_timeout=",
			"option 'attr_timeout=': SECONDS is a number" },
		{ "sandboxfs local:x /mnt -o attr_timeout=1s",
			"option 'attr_timeout=1s': SECONDS is a number" },
		{ "sandboxfs local:x /mnt -o timeout=-1", "option 'timeout=-1': SECONDS" },
		{ "sandboxfs local:x /mnt -o timeout=nan", "option 'timeout=nan': SECONDS" },
		{ "sandboxfs local:x /mnt -o timeout=1e300", "option 'timeout=1e300': SECONDS" },
		{ "sandboxfs local:x /mnt -o cache=here",
			"option 'cache=here': DIR|off is a directory's absolute path" },
		{ "sandboxfs local:x /mnt -o cache_size=5", "option 'cache_size=5': SIZE" },
		{ "sandboxfs local:x /mnt -o journal=here",
			"option 'journal=here': DIR|off is a directory's absolute path" },
		{ "sandboxfs local:x /mnt -o journal_size=5", "option 'journal_size=5': SIZE" },
		{ "sandboxfs local:x /mnt -o max_threads=0", "option 'max_threads=0': NUMBER" },
		{ "sandboxfs local:x /mnt -o max_threads=1001", "NUMBER is 1 to 1000" },
		{ "sandboxfs local:x /mnt -o max_threads=5x", "NUMBER is 1 to 1000" },
		{ "sandboxfs local:x /mnt -o uid=no-such-user", "no such user here" },
		{ "sandboxfs local:x /mnt -o uid=-1", "no such user here" },
		{ "sandboxfs local:x /mnt -o uid=4294967295", "no such user here" },
		{ "sandboxfs local:x /mnt -o gid=no-such-group", "no such group here" },
		{ "sandboxfs local:x /mnt -o symlinks=follow",
			"option 'symlinks=follow': use one of rewrite|refuse|raw" },
		{ "sandboxfs local:x /mnt -o helper=aut", "use one of auto|process" },
		{ "sandboxfs local:x /mnt -o helper=", "use one of auto|process" },
		{ "sandboxfs local:x /mnt -o helper=off",
			"option 'helper=off': use one of auto|process" },
		{ "sandboxfs local:x /mnt -o shell=dash", "unknown option 'shell=dash'" },
		{ "sandboxfs local:x /mnt -o close=later",
			"option 'close=later': use one of async|wait" },
		{ "sandboxfs local:x /mnt -o close=", "option 'close=': use one of async|wait" },
		{ "sandboxfs local:x /mnt -o close", "unknown option 'close'" },
		{ "sandboxfs local:x /mnt -o excl=local",
			"option 'excl=local': use one of auto|remote" },
		{ "sandboxfs local:x /mnt -o sync=yes", "unknown option 'sync=yes'" },
		{ "sandboxfs local:x /mnt -o remount,ro", "unmount and mount again" },
		{ "sandboxfs local:x /mnt -o fsname=y", "the mount table shows the source" },
		{ "sandboxfs local:x /mnt -o allow_other,allow_root", "one of them" },
		{ "sandboxfs local:x /mnt -o idmap=none,uid=5", "option 'idmap=none'" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_CONFIG struct config c = { 0 };
		struct error e = { 0 };

		cr_expect(eq(int, parse(&c, rows[i].line, &e), ERR_INVALID), "%s", rows[i].line);
		cr_expect(says(e.text, rows[i].says), "%s: %s", rows[i].line, e.text);
		cr_expect(eq(ptr, c.source, NULL), "%s: nothing is left", rows[i].line);
	}
}

Test(config, keeps_the_way_out_visible_after_a_long_word)
{
	AUTO_CONFIG struct config c = { 0 };
	struct error e = { 0 };
	char line[5000] = "sandboxfs local:x /mnt -o ";

	memset(line + strlen(line), 'a', 4000);
	cr_expect(eq(int, parse(&c, line, &e), ERR_INVALID));
	cr_expect(says(e.text, "--help lists"), "%s", e.text);
}

Test(config, logs_what_the_environment_says_unless_an_option_does)
{
	AUTO_CONFIG struct config environment = { 0 }, option = { 0 };

	setenv("SANDBOXFS_LOG", "info", 1);
	must_parse(&environment, "sandboxfs local:x /mnt -d");
	cr_expect(eq(str, (char *)config_log_spec(&environment), "info"));
	must_parse(&option, "sandboxfs local:x /mnt -o log=error");
	cr_expect(eq(str, (char *)config_log_spec(&option), "error"));
}

Test(config, maps_owners_unless_root_mounts_without_saying_so)
{
	const struct identity root = { 0 };
	bool is_root = geteuid() == 0;
	const struct {
		const char *options;
		bool maps;
	} rows[] = {
		{ "idmap=auto", !is_root },
		{ "idmap=none", false },
		{ "idmap=user", true },
		{ "uid=1000", true },
		{ "gid=1000", true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_CONFIG struct config c = { 0 };
		char line[100];

		snprintf(line, sizeof line, "sandboxfs local:x /mnt -o %s", rows[i].options);
		must_parse(&c, line);
		cr_expect(eq(int, config_maps_owners(&c, &root), rows[i].maps), "%s",
			rows[i].options);
	}
}

/* 4294967295 stands for no user, and so has no number anywhere. */
Test(config, a_sandbox_user_who_is_nobody_here_is_shown_as_the_one_who_mounts)
{
	const struct identity nobody = { .uid = UINT32_MAX }, no_group = { .gid = UINT32_MAX };
	AUTO_CONFIG struct config automatic = { 0 }, none = { 0 };

	must_parse(&automatic, "sandboxfs local:x /mnt");
	cr_expect(config_maps_owners(&automatic, &nobody));
	cr_expect(config_maps_owners(&automatic, &no_group));
	must_parse(&none, "sandboxfs local:x /mnt -o idmap=none");
	cr_expect(not(config_maps_owners(&none, &nobody)));
}

Test(config, shows_the_user_that_uid_names_with_its_own_group)
{
	AUTO_CONFIG struct config given = { 0 }, own = { 0 };

	must_parse(&given, "sandboxfs local:x /mnt -o uid=4000000000");
	cr_expect(eq(u32, config_owner_uid(&given), 4000000000U));
	must_parse(&own, "sandboxfs local:x /mnt -o gid=77");
	cr_expect(eq(u32, config_owner_uid(&own), getuid()));
	cr_expect(eq(u32, config_owner_gid(&own), 77));
}

Test(config, prints_every_option_that_does_something)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);

	config_print_help(to);
	fclose(to);
	cr_expect(says(text, "-o symlinks=rewrite|refuse|raw"));
	cr_expect(says(text, "Providers:\n    local"));
	cr_expect(says(text, "comment="));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		cr_expect(le(sz, strcspn(line, "\n"), 100));
	free(text);
}

Test(config, says_how_a_sandbox_is_made_and_kept)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs e2b: /mnt -o template=base,lifetime=600,resume=never");
	cr_expect(eq(str, c.creation.template, "base"));
	cr_expect(eq(i64, c.creation.lifetime_ms, 600000));
	cr_expect(eq(int, c.resume, RESUME_NEVER));
}

Test(config, says_what_a_sandbox_is_made_with)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c,
		"sandboxfs e2b: /mnt -o env=A=1,env=B_2=x=y -o label=team=red,env=EMPTY= -o "
		"name=box,cpus=0.5,memory=1.5G,disk=10G,gpu=T4,region=eu,idle=90,delete_after="
		"3600,port=8000,port=65535,port=8000");
	cr_expect(eq(str, c.creation.env[0], "A=1"));
	cr_expect(eq(str, c.creation.env[1], "B_2=x=y"));
	cr_expect(eq(str, c.creation.env[2], "EMPTY="));
	cr_expect(eq(ptr, c.creation.env[3], NULL));
	cr_expect(eq(str, c.creation.labels[0], "team=red"));
	cr_expect(eq(ptr, c.creation.labels[1], NULL));
	cr_expect(eq(str, c.creation.name, "box"));
	cr_expect(eq(dbl, c.creation.cpus, 0.5));
	cr_expect(eq(i64, c.creation.memory_mb, 1536));
	cr_expect(eq(i64, c.creation.disk_mb, 10240));
	cr_expect(eq(str, c.creation.gpu, "T4"));
	cr_expect(eq(str, c.creation.region, "eu"));
	cr_expect(eq(i64, c.creation.idle_ms, 90000));
	cr_expect(eq(i64, c.creation.delete_after_ms, 3600000));
	cr_expect(eq(int, c.creation.ports[0], 8000));
	cr_expect(eq(int, c.creation.ports[1], 65535));
	cr_expect(eq(int, c.creation.ports[2], 0), "each once");
}

Test(config, rounds_sizes_up_to_whole_mebibytes)
{
	AUTO_CONFIG struct config c = { 0 };

	must_parse(&c, "sandboxfs e2b: /mnt -o memory=1K,disk=1025K");
	cr_expect(eq(i64, c.creation.memory_mb, 1));
	cr_expect(eq(i64, c.creation.disk_mb, 2));
}

Test(config, refuses_what_no_sandbox_can_be_made_with)
{
	static const char *const wrong[] = { "env=A", "env==x", "env=1A=x", "env=A-B=x", "label=x",
		"label==x", "name=", "cpus=0", "cpus=-1", "cpus=many", "cpus=nan", "memory=512",
		"memory=512MB", "memory=0M", "memory=-1G", "memory=M", "disk=1e30G", "idle=soon",
		"delete_after=never", "port=0", "port=65536", "port=http", "port=-1" };

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct config c = { 0 };
		struct error e = { 0 };
		char line[100];

		snprintf(line, sizeof line, "sandboxfs e2b: /mnt -o %s", wrong[i]);
		cr_expect(eq(int, parse(&c, line, &e), ERR_INVALID), "%s", wrong[i]);
		cr_expect(says(e.text, "option '"), "%s", e.text);
	}
}
