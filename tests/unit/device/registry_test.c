// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/registry.h"

#include <string.h>

#include "pmcore/util/conf.h"
#include "tests/harness/tap.h"

TAP_TEST(registry_find__every_listed_name)
{
	char names[128], *rest = names, *name;
	int n = 0;

	must(strlen(registry_names()) < sizeof(names));
	strcpy(names, registry_names());
	while ((name = strsep(&rest, ","))) {
		const struct registry_entry *entry;

		name += strspn(name, " ");
		entry = registry_find(name);
		must(okf(entry != NULL, "%s is listed and not found", name));
		is_str(entry->name, name);
		/* one contract, not both */
		okf(!entry->link != !entry->packet, "%s", name);
		is_str(entry->link ? entry->link->name : entry->packet->name, name);
		n++;
	}
	is_int(n, 6);
}

TAP_TEST(registry_find__part_of_a_name)
{
	ok(registry_find("sel") == NULL);
	ok(registry_find("selfish") == NULL);
	ok(registry_find("UDP") == NULL);
}

TAP_TEST(registry_choose__by_the_size_of_the_job)
{
	struct conf conf;

	conf_defaults(&conf);
	/* unknown, the largest that is connected, and one more */
	is_str(registry_choose("verbs", &conf, 0)->name, "verbs");
	is_str(registry_choose("verbs", &conf, 512)->name, "verbs");
	is_str(registry_choose("verbs", &conf, 513)->name, "verbs-datagram");
	is_str(registry_choose("verbs-datagram", &conf, 2)->name, "verbs-datagram");
	is_str(registry_choose("udp", &conf, 100000)->name, "udp");
	ok(!registry_choose("verb", &conf, 100000));
	conf.verbs_connected_max = 1;
	is_str(registry_choose("verbs", &conf, 2)->name, "verbs-datagram");
	is_str(registry_choose("verbs", &conf, 1)->name, "verbs");
	conf.verbs_path = CONF_PATH_CONNECTED;
	is_str(registry_choose("verbs", &conf, 100000)->name, "verbs");
	conf.verbs_path = CONF_PATH_DATAGRAM;
	is_str(registry_choose("verbs", &conf, 0)->name, "verbs-datagram");
}

TAP_TEST(registry_other_way__of_verbs_only)
{
	is_str(registry_other_way("verbs"), "verbs-datagram");
	is_str(registry_other_way("verbs-datagram"), "verbs");
	ok(!registry_other_way("udp"));
}
