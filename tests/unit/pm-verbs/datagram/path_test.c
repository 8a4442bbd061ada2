// SPDX-License-Identifier: BSD-3-Clause
/*
 * Connections or datagrams, as a program sees it: which device serves a node, and what becomes of
 * nodes of the other kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pm.h"
#include "tests/harness/tap.h"
#include "tests/unit/pm-verbs/fake_verbs.h"

static pmContext open_context(uint32_t self, uint32_t nodes, const char *config)
{
	struct pmOptions options = {.size = sizeof(options),
				    .job_key = 5,
				    .self = self,
				    .nodes = nodes,
				    .config = config};
	pmContext ctx = PM_CONTEXT_NONE;

	unsetenv("PM_OPTIONS");
	if (!is_int(pmOpenContext(&options, &ctx), PM_SUCCESS))
		tap_diag("%s", pmLastError());
	return ctx;
}

/* The result of pmAddNode at @a with the address of @b. */
static int meet(pmContext a, pmContext b, pmNode node)
{
	uint8_t address[PM_ADDRESS_MAX];
	size_t len = sizeof(address);

	is_int(pmGetAddress(b, address, &len), PM_SUCCESS);
	return pmAddNode(a, node, address, len);
}

/*
 * Which device leads from a process with the first options to one with the others; NULL with no
 * device.
 */
static const char *device_between(const char *one, const char *other, uint32_t nodes)
{
	pmContext a, b;
	const char *name = NULL;

	fake_begin(1);
	a = open_context(0, nodes, one);
	b = open_context(1, nodes, other);
	if (!meet(a, b, 1))
		is_int(pmGetDeviceName(a, 1, &name), PM_SUCCESS);
	is_int(pmCloseContext(a), PM_SUCCESS);
	is_int(pmCloseContext(b), PM_SUCCESS);
	is_int(fake.live, 0);
	fake_end();
	return name;
}

static const char *device_for(const char *config, uint32_t nodes)
{
	return device_between(config, config, nodes);
}

TAP_TEST(path__by_the_size_of_the_job)
{
	is_str(device_for("devices=self+verbs", 0), "verbs");
	is_str(device_for("devices=self+verbs", 512), "verbs");
	is_str(device_for("devices=self+verbs", 513), "verbs-datagram");
	is_str(device_for("devices=self+verbs,verbs.connected_max=1", 2), "verbs-datagram");
	is_str(device_for("devices=self+verbs,verbs.path=connected", 9000), "verbs");
	is_str(device_for("devices=self+verbs,verbs.path=datagram", 0), "verbs-datagram");
	is_str(device_for("devices=self+verbs-datagram", 0), "verbs-datagram");
}

TAP_TEST(path__both_named)
{
	is_str(device_for("devices=self+verbs+verbs-datagram", 2), "verbs");
	is_str(device_for("devices=self+verbs+verbs-datagram", 9000), "verbs-datagram");
	/* who has both is reached by either */
	is_str(device_between("devices=self+verbs+verbs-datagram", "devices=self+verbs-datagram",
			      2),
	       "verbs-datagram");
}

TAP_TEST(path__a_node_of_the_other_kind)
{
	pmContext a, b;

	is_str(device_between("devices=self+verbs+udp,udp.rails=lo",
			      "devices=self+verbs+udp,udp.rails=lo,verbs.path=datagram", 2),
	       "udp");
	is_str(device_between("devices=self+verbs+udp,udp.rails=lo,verbs.path=datagram",
			      "devices=self+verbs+udp,udp.rails=lo", 2),
	       "udp");
	fake_begin(1);
	a = open_context(0, 2, "devices=self+verbs");
	b = open_context(1, 2, "devices=self+verbs,verbs.path=datagram");
	is_int(meet(a, b, 1), EHOSTUNREACH);
	ok(strstr(pmLastError(), "it is reached by verbs-datagram and not by verbs: set "
				 "verbs.path, devices and the size of the job alike") != NULL);
	is_int(meet(b, a, 0), EHOSTUNREACH);
	ok(strstr(pmLastError(), "it is reached by verbs and not by verbs-datagram") != NULL);
	is_int(pmCloseContext(a), PM_SUCCESS);
	is_int(pmCloseContext(b), PM_SUCCESS);
	fake_end();
}

/* A message there and back, then the wait of a program that sleeps. */
TAP_TEST(path__messages_by_datagrams)
{
	pmContext ctx[2];
	static uint8_t message[100] = {1, 2, 3};
	void *got;
	size_t len;
	pmNode src;
	pmDesc desc;

	fake_begin(2);
	for (uint32_t i = 0; i < 2; i++)
		ctx[i] = open_context(i, 1000, "devices=self+verbs");
	for (uint32_t i = 0; i < 2; i++)
		is_int(meet(ctx[i], ctx[!i], !i), PM_SUCCESS);
	for (uint32_t k = 0; k < 100; k++) {
		pmContext to = ctx[!(k & 1)];
		int err;

		is_int(pmPost(ctx[k & 1], !(k & 1), message, sizeof(message)), PM_SUCCESS);
		is_int(pmWait(to, 10000), PM_SUCCESS);
		do
			err = pmReceive(to, &got, &len, &src, &desc);
		while (err == ENOBUFS);
		must(is_int(err, PM_SUCCESS));
		ok(len == sizeof(message) && src == (k & 1) && !memcmp(got, message, len));
		is_int(pmReleaseReceiveBuffer(to, desc), PM_SUCCESS);
	}
	for (int i = 0; i < 2; i++)
		is_int(pmCloseContext(ctx[i]), PM_SUCCESS);
	is_int(fake.live, 0);
	fake_end();
}
