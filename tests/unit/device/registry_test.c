// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/device/registry.h"

#include <string.h>

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
	is_int(n, 5);
}

TAP_TEST(registry_find__part_of_a_name)
{
	ok(registry_find("sel") == NULL);
	ok(registry_find("selfish") == NULL);
	ok(registry_find("UDP") == NULL);
}
