// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/stubs.h"

#include <errno.h>
#include <string.h>

#include "pmcore/device/registry.h"
#include "tests/harness/tap.h"

TAP_TEST(stubs_link__every_device_is_complete)
{
	static const char *const names[] = {"self", "shmem"};

	for (size_t i = 0; i < 2; i++) {
		const struct registry_entry *entry = registry_find(names[i]);
		struct pm_link_ops ops;
		const void *words[sizeof(ops) / sizeof(void *)];

		must(entry && entry->link);
		is_int(stubs_link(entry->link, &ops), 0);
		is_str(ops.name, names[i]);
		memcpy(words, &ops, sizeof(ops));
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
			okf(words[w] != NULL, "%s: operation %zu is NULL", names[i], w);
	}
}

TAP_TEST(stubs_packet__every_device_is_complete)
{
	const struct registry_entry *entry = registry_find("udp");
	struct pm_packet_ops ops;
	const void *words[sizeof(ops) / sizeof(void *)];

	must(entry && entry->packet);
	is_int(stubs_packet(entry->packet, &ops), 0);
	memcpy(words, &ops, sizeof(ops));
	for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
		okf(words[w] != NULL, "operation %zu is NULL", w);
}

TAP_TEST(stubs_link__other_abi_or_missing_operation)
{
	struct pm_link_ops bad = *registry_find("self")->link, out;

	memset(&out, 0x55, sizeof(out));
	bad.abi++;
	is_int(stubs_link(&bad, &out), -EPROTO);
	bad = *registry_find("self")->link;
	bad.size -= 8;
	is_int(stubs_link(&bad, &out), -EPROTO);
	bad = *registry_find("self")->link;
	bad.receive = NULL;
	is_int(stubs_link(&bad, &out), -EPROTO);
	is_int(((unsigned char *)&out)[0], 0x55);
}

TAP_TEST(registry_find__unknown)
{
	ok(registry_find("carrier-pigeon") == NULL);
	ok(registry_find("") == NULL);
}

TAP_TEST(stubs_link__probe_left_out)
{
	struct pm_link_ops ops;

	ok(registry_find("self")->link->probe == NULL);
	must(is_int(stubs_link(registry_find("self")->link, &ops), 0));
	is_int(ops.probe(NULL, NULL), 0);
}
