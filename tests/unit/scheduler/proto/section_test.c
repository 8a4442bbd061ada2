// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/section.h"

#include <errno.h>
#include <string.h>

#include "tests/harness/tap.h"

/* Reads @text as cluster.json. */
static int read_text(struct section *ret, const char *text, char *why, size_t why_size)
{
	json_t *cluster = json_loads(text, 0, NULL);
	int err = section_read(ret, cluster, why, why_size);

	json_decref(cluster);
	return err;
}

TAP_TEST(section_read__everything)
{
	struct section s;
	char why[256];

	is_int(read_text(&s,
			 "{\"scheduler\": {\"server\": \"head\", \"port\": 8710, \"node_port\": "
			 "8711, "
			 "\"quantum_ms\": 50, \"rows\": 4, \"memory\": 50, \"operators\": "
			 "[\"alice\", \"bob\"], "
			 "\"state\": \"/srv/x\", \"checkpoints\": \"/srv/images\"}}",
			 why, sizeof(why)),
	       0);
	is_str(s.server, "head:8710");
	is_str(s.port, "8710");
	is_str(s.node_port, "8711");
	is_str(s.operators, "alice,bob");
	is_str(s.state, "/srv/x");
	is_str(s.checkpoints, "/srv/images");
	is_int((int)(s.quantum_ns / 1000000), 50);
	is_int((int)s.rows, 4);
	is_int((int)s.memory, 50);
	section_fini(&s);
	ok(!s.server && !s.state);
}

TAP_TEST(section_read__server_alone_and_no_section)
{
	struct section s;
	char why[256];

	is_int(read_text(&s, "{\"scheduler\": {\"server\": \"fd00::1\"}}", why, sizeof(why)), 0);
	is_str(s.server, "[fd00::1]:7710");
	ok(!s.port && !s.operators && !s.quantum_ns && !s.rows && !s.memory);
	section_fini(&s);
	is_int(read_text(&s, "{}", why, sizeof(why)), 0);
	ok(!s.server);
}

TAP_TEST(section_read__ipv6_with_port)
{
	struct section s;
	char why[256];

	is_int(read_text(&s, "{\"scheduler\": {\"server\": \"fd00::1\", \"port\": 9}}", why,
			 sizeof(why)),
	       0);
	is_str(s.server, "[fd00::1]:9");
	section_fini(&s);
}

TAP_TEST(section_read__wrong_fields)
{
	static const char *const wrong[] = {
		"{\"scheduler\": {}}",
		"{\"scheduler\": {\"server\": 3}}",
		"{\"scheduler\": {\"server\": \"a\", \"port\": 0}}",
		"{\"scheduler\": {\"server\": \"a\", \"quantum_ms\": 5}}",
		"{\"scheduler\": {\"server\": \"a\", \"rows\": 65}}",
		"{\"scheduler\": {\"server\": \"a\", \"memory\": 101}}",
		"{\"scheduler\": {\"server\": \"a\", \"memory\": 0}}",
		"{\"scheduler\": {\"server\": \"a\", \"operators\": [\"x y\"]}}",
		"{\"scheduler\": {\"server\": \"a\", \"state\": \"relative\"}}",
	};
	struct section s = {0};
	char why[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		why[0] = 0;
		is_int(read_text(&s, wrong[i], why, sizeof(why)), -EINVAL);
		okf(strstr(why, "scheduler") != NULL, "%s: told: %s", wrong[i], why);
	}
	ok(!s.server);
}

TAP_TEST(section_load__no_file)
{
	struct section s;
	char why[256];

	is_int(section_load(&s, "/nonexistent/cluster.json", why, sizeof(why)), -EINVAL);
	ok(strstr(why, "/nonexistent/cluster.json") && strstr(why, "scconf compile"));
}
