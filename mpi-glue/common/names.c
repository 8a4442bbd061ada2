// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/names.h"

#include <string.h>

bool names_include(const char *list, const char *name)
{
	size_t len = strlen(name);

	if (!list || *list == '^')
		return false;
	while (*list) {
		size_t item = strcspn(list, ",");

		if (item == len && !strncmp(list, name, len))
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}
