// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-ethernet/daemon/options.c: what is taken, and the sentence for what is not. */
#include "pm-ethernet/daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char why[256];

static int parse(struct ethd_options *o, const char *const *words)
{
	char text[16][128], *argv[17] = {NULL};
	int argc = 0;

	for (; words[argc]; argc++) {
		snprintf(text[argc], sizeof(text[argc]), "%s", words[argc]);
		argv[argc] = text[argc];
	}
	optind = 0;
	why[0] = 0;
	return ethd_options_parse(argc, argv, o, why, sizeof(why));
}

#define PARSE(o, ...) parse(o, (const char *const[]){"pm-ethernetd", __VA_ARGS__, NULL})

TAP_TEST(ethd_options_parse__defaults)
{
	struct ethd_options o;

	must(PARSE(&o, "--nics", "eth1,eth2") == 0);
	is_int(o.n_nics, 2);
	ok(!strcmp(o.nics[0], "eth1") && !strcmp(o.nics[1], "eth2"));
	ok(!strcmp(o.run, "/run/pm-ethernet"));
	is_int(o.type, 0x88b5);
	ok(!o.has_host_id && o.mode == ETHD_MODE_AUTO && o.direct == ETHD_DIRECT_ANY);
	ok(!o.user_bytes);
}

TAP_TEST(ethd_options_parse__memory_of_a_user)
{
	struct ethd_options o;

	must(PARSE(&o, "--nics", "eth1", "--user-memory", "64") == 0);
	ok(o.user_bytes == 64ull << 20);
	must(PARSE(&o, "--nics", "eth1", "--user-memory", "1048576") == 0);
	ok(o.user_bytes == 1ull << 40);
	is_int(PARSE(&o, "--nics", "eth1", "--user-memory", "0"), -EINVAL);
	ok(strstr(why, "--user-memory 0: wanted is a number from 1 to 1048576"));
	is_int(PARSE(&o, "--nics", "eth1", "--user-memory", "64MiB"), -EINVAL);
}

TAP_TEST(ethd_options_parse__everything)
{
	struct ethd_options o;

	must(PARSE(&o, "--foreground", "--nics=a,b,c,d,e,f,g,h", "--run", "/var/x//", "--host-id",
		   "0x10", "--ethertype", "0x600", "--mode", "generic", "--direct", "never") == 0);
	is_int(o.n_nics, 8);
	ok(!strcmp(o.run, "/var/x"));
	ok(o.has_host_id && o.host_id == 16);
	is_int(o.type, 0x600);
	ok(o.mode == ETHD_MODE_GENERIC && o.direct == ETHD_DIRECT_NEVER);
}

TAP_TEST(ethd_options_parse__the_last_one_counts)
{
	struct ethd_options o;

	must(PARSE(&o, "--nics", "eth1,eth2", "--nics", "eth3", "--mode", "native", "--mode",
		   "auto") == 0);
	ok(o.n_nics == 1 && !strcmp(o.nics[0], "eth3") && o.mode == ETHD_MODE_AUTO);
}

TAP_TEST(ethd_options_parse__each_mistake_has_its_sentence)
{
	static const struct {
		const char *option, *value, *word;
	} bad[] = {
		{"--nics", "a,b,c,d,e,f,g,h,i", "1 to 8"},
		{"--nics", "a,,b", "1 to 8"},
		{"--nics", "sixteen-letters-", "1 to 8"},
		{"--nics", "a,b,a", "a is there twice"},
		{"--run", "relative", "absolute path"},
		{"--host-id", "0", "1 to 4294967294"},
		{"--host-id", "4294967295", "1 to 4294967294"},
		{"--host-id", "-1", "1 to 4294967294"},
		{"--host-id", "7x", "1 to 4294967294"},
		{"--host-id", "", "1 to 4294967294"},
		{"--ethertype", "0x5ff", "0x600"},
		{"--ethertype", "65536", "0x600"},
		{"--mode", "Native", "auto, native, generic or tc"},
		{"--direct", "", "any, root or never"},
		{"--config", "/nonexistent.json", "scconf compile"},
		{"--colour", "red", "--colour is no option"},
	};
	struct ethd_options o = {.n_nics = 99};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(PARSE(&o, "--nics", "eth1", bad[i].option, bad[i].value), -EINVAL);
		okf(strstr(why, bad[i].word), "%s %s: %s", bad[i].option, bad[i].value, why);
	}
	is_int(PARSE(&o, "--nics", "eth1", "-tr"), -EINVAL);
	okf(strstr(why, "-tr is no option"), "%s", why);
	is_int(o.n_nics, 99);
}

TAP_TEST(ethd_options_parse__no_nics_or_a_word_too_many)
{
	struct ethd_options o;

	is_int(PARSE(&o, "--mode", "auto"), -EINVAL);
	ok(strstr(why, "--nics or --config is missing"));
	is_int(PARSE(&o, "--nics", "eth1", "eth2"), -EINVAL);
	ok(strstr(why, "eth2 is no option"));
	is_int(PARSE(&o, "--nics"), -EINVAL);
	ok(strstr(why, "--nics wants a value"));
}

TAP_TEST(ethd_options_parse__a_path_that_just_fits)
{
	char path[128] = "/";
	struct ethd_options o;

	memset(path + 1, 'x', sizeof(o.run) - sizeof("/socket") - 1);
	is_int(PARSE(&o, "--nics", "eth1", "--run", path), 0);
	strcat(path, "x");
	is_int(PARSE(&o, "--nics", "eth1", "--run", path), -EINVAL);
}

TAP_TEST(ethd_options_parse__watch)
{
	static const char *const wrong[] = {"", "ms", "-1ms", "1001ms", "2s", "25", "25us", "x"};
	struct ethd_options o;

	must(PARSE(&o, "--nics", "eth1") == 0);
	is_int(o.watch_ns, 25000000);
	must(PARSE(&o, "--nics", "eth1", "--watch", "0") == 0);
	is_int(o.watch_ns, 0);
	must(PARSE(&o, "--nics", "eth1", "--watch", "7ms") == 0);
	is_int(o.watch_ns, 7000000);
	must(PARSE(&o, "--nics", "eth1", "--watch", "1s") == 0);
	is_int(o.watch_ns, 1000000000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		is_int(PARSE(&o, "--nics", "eth1", "--watch", wrong[i]), -EINVAL);
		okf(strstr(why, "--watch") != NULL, "%s: %s", wrong[i], why);
	}
}

/* A cluster.json of this host alone, whose network says @watch. */
static void write_config(char *path, const char *watch)
{
	char host[256] = "";
	int fd = mkstemp(path);

	must(fd >= 0 && !gethostname(host, sizeof(host) - 1));
	must(dprintf(fd,
		     "{\"networks\": [{\"name\": \"raw\", \"type\": \"ethernet\"%s}], "
		     "\"hosts\": [{\"name\": \"%s\", \"rails\": [{\"network\": \"raw\", "
		     "\"device\": \"eth1\"}]}]}",
		     watch, host) > 0);
	close(fd);
}

TAP_TEST(ethd_options_parse__watch_of_the_file_unless_an_option_behind_it_says_otherwise)
{
	char said[] = "/tmp/options_test.XXXXXX", silent[] = "/tmp/options_test.XXXXXX";
	struct ethd_options o;

	write_config(said, ", \"watch_ms\": 40");
	write_config(silent, "");
	must(PARSE(&o, "--config", said) == 0);
	is_int(o.watch_ns, 40000000);
	must(PARSE(&o, "--config", said, "--watch", "7ms") == 0);
	is_int(o.watch_ns, 7000000);
	must(PARSE(&o, "--config", silent) == 0);
	is_int(o.watch_ns, 25000000);
	unlink(said);
	write_config(strcpy(said, "/tmp/options_test.XXXXXX"), ", \"watch_ms\": 5000");
	is_int(PARSE(&o, "--config", said), -EINVAL);
	okf(strstr(why, "--watch 5000ms") != NULL, "%s", why);
	unlink(said);
	unlink(silent);
}
