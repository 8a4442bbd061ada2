// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/names.h"

#include <string.h>

static bool contains(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (*list) {
		size_t item = strcspn(list, ",");

		if (item == len && !strncmp(list, name, len))
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

bool names_include(const char *list, const char *name)
{
	return list && *list != '^' && contains(list, name);
}

bool names_allow(const char *list, const char *name)
{
	if (!list || !*list)
		return true;
	return *list == '^' ? !contains(list + 1, name) : contains(list, name);
}
