// SPDX-License-Identifier: BSD-3-Clause
/*
 * infos - growth of the array; PMIx's own loader copies the values.
 */
#include "scheduler/scstepd/pmix/infos.h"

#include <stdlib.h>
#include <string.h>

static pmix_info_t *next(struct infos *infos)
{
	if (infos->n == infos->room) {
		size_t room = infos->room ? 2 * infos->room : 16;
		pmix_info_t *more = realloc(infos->v, room * sizeof(*more));

		if (!more) {
			infos->is_broken = true;
			return NULL;
		}
		infos->v = more;
		infos->room = room;
	}
	memset(&infos->v[infos->n], 0, sizeof(*infos->v));
	return &infos->v[infos->n++];
}

void infos_add(struct infos *infos, const char *key, const void *value, pmix_data_type_t type)
{
	pmix_info_t *info = next(infos);

	if (info && PMIx_Info_load(info, key, value, type) != PMIX_SUCCESS)
		infos->is_broken = true;
}

void infos_text(struct infos *infos, const char *key, const char *text)
{
	infos_add(infos, key, text, PMIX_STRING);
}

void infos_u32(struct infos *infos, const char *key, uint32_t value)
{
	infos_add(infos, key, &value, PMIX_UINT32);
}

void infos_u16(struct infos *infos, const char *key, uint16_t value)
{
	infos_add(infos, key, &value, PMIX_UINT16);
}

void infos_rank(struct infos *infos, const char *key, uint32_t value)
{
	infos_add(infos, key, &value, PMIX_PROC_RANK);
}

void infos_true(struct infos *infos, const char *key)
{
	bool yes = true;

	infos_add(infos, key, &yes, PMIX_BOOL);
}

void infos_array(struct infos *infos, const char *key, struct infos *part)
{
	pmix_info_t *info = next(infos);
	pmix_data_array_t *array = malloc(sizeof(*array));

	if (!info || !array || part->is_broken) {
		infos->is_broken = true;
		free(array);
		infos_fini(part);
		return;
	}
	*array = (pmix_data_array_t){.type = PMIX_INFO, .size = part->n, .array = part->v};
	PMIX_LOAD_KEY(info->key, key);
	info->value.type = PMIX_DATA_ARRAY;
	info->value.data.darray = array;
	*part = (struct infos){0};
}

const pmix_value_t *infos_find(const pmix_info_t *v, size_t n, const char *key)
{
	while (n--)
		if (!strncmp(v[n].key, key, PMIX_MAX_KEYLEN))
			return &v[n].value;
	return NULL;
}

void infos_fini(struct infos *infos)
{
	for (size_t i = 0; i < infos->n; i++)
		PMIX_INFO_DESTRUCT(&infos->v[i]);
	free(infos->v);
	*infos = (struct infos){0};
}
