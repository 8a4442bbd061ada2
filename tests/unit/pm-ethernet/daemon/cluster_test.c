// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/cluster.c: this host's rails in a cluster.json, and in what is none.
 */
#include "pm-ethernet/daemon/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char why[512];

/* Reads @text as the file. */
static int read_text(const char *text, const char *host, struct ethd_cluster *ret)
{
	char path[] = "/tmp/cluster_test.XXXXXX";
	int fd = mkstemp(path), err;
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	why[0] = 0;
	err = n == (ssize_t)strlen(text) ? ethd_cluster_read(path, host, ret, why, sizeof(why))
					 : -EIO;
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return err;
}

#define NETWORKS                                                                                   \
	"\"networks\": [{\"name\": \"raw\", \"type\": \"ethernet\", \"ethertype\": 34998, "        \
	"\"mode\": \"generic\", \"direct\": \"root\", \"watch_ms\": 40}, {\"name\": \"two\", "     \
	"\"type\": "                                                                               \
	"\"ethernet\"}, {\"name\": \"lan\", \"type\": \"udp\"}]"
#define RAIL(network, device) "{\"network\": \"" network "\", \"device\": \"" device "\"}"
#define HOST(name, rails) "{\"name\": \"" name "\", \"rails\": [" rails "]}"
#define FILE_OF(hosts) "{" NETWORKS ", \"hosts\": [" hosts "]}"

TAP_TEST(ethd_cluster_read__rails_of_ethernet_in_their_order)
{
	struct ethd_cluster c;

	must(read_text(
		     FILE_OF(HOST("n0", RAIL("raw", "eth9")) "," HOST(
			     "n1", RAIL("lan", "eth0") "," RAIL("raw", "eth2") "," RAIL(
					   "raw", "eth1") "," RAIL("two", "eth2") "," RAIL("two",
											   "eth"))),
		     "n1", &c) == 0);
	ok(!strcmp(c.nics, "eth2,eth1,eth"));
	ok(!strcmp(c.type, "0x88b6") && !strcmp(c.mode, "generic") && !strcmp(c.direct, "root"));
	ok(!strcmp(c.watch, "40ms"));
}

TAP_TEST(ethd_cluster_read__what_the_file_does_not_say_is_empty)
{
	struct ethd_cluster c;

	must(read_text(FILE_OF(HOST("n1", RAIL("two", "eth1"))), "n1", &c) == 0);
	ok(!strcmp(c.nics, "eth1") && !c.type[0] && !c.mode[0] && !c.direct[0] && !c.watch[0]);
}

TAP_TEST(ethd_cluster_read__a_host_with_a_domain)
{
	struct ethd_cluster c;

	is_int(read_text(FILE_OF(HOST("n1", RAIL("raw", "eth1"))), "n1.example.org", &c), 0);
	is_int(read_text(FILE_OF(HOST("n1.example.org", RAIL("raw", "eth1"))), "n1.example.org",
			 &c),
	       0);
	is_int(read_text(FILE_OF(HOST("n1", RAIL("raw", "eth1"))), "n10.example.org", &c), -EINVAL);
}

TAP_TEST(ethd_cluster_read__no_rail_of_ethernet)
{
	struct ethd_cluster c = {.nics = "same"};

	is_int(read_text(FILE_OF(HOST("n1", RAIL("lan", "eth1"))), "n1", &c), -EINVAL);
	ok(strstr(why, "host n1 has no rail of a network of type ethernet"));
	ok(!strcmp(c.nics, "same"));
}

TAP_TEST(ethd_cluster_read__what_is_no_cluster)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"hosts\": 5}",
		"{\"hosts\": [5, null, {}, {\"name\": 7}]}",
		"{\"hosts\": [{\"name\": \"n1\"}]}",
		"{\"hosts\": [{\"name\": \"n1\", \"rails\": {}}]}",
		"{\"hosts\": [{\"name\": \"n1\", \"rails\": [null, 3, {\"network\": []}]}]}",
	};
	struct ethd_cluster c;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		okf(read_text(texts[i], "n1", &c) == -EINVAL && why[0], "text %zu: %s", i, why);
}

TAP_TEST(ethd_cluster_read__no_file)
{
	struct ethd_cluster c;

	is_int(ethd_cluster_read("/nonexistent/cluster.json", "n1", &c, why, sizeof(why)), -EINVAL);
	ok(strstr(why, "/nonexistent/cluster.json"));
}
