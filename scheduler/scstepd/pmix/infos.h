/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * infos - an array of pmix_info_t that grows. A failure is remembered and asked for once, at the
 * end.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_INFOS_H
#define SCHEDULER_SCSTEPD_PMIX_INFOS_H

#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct infos {
	pmix_info_t *v;
	size_t n, room;
	bool is_broken; /* no memory, or a value PMIx did not take */
};

/* Copies @value. */
void infos_add(struct infos *infos, const char *key, const void *value, pmix_data_type_t type);
void infos_text(struct infos *infos, const char *key, const char *text);
void infos_u32(struct infos *infos, const char *key, uint32_t value);
void infos_u16(struct infos *infos, const char *key, uint16_t value);
void infos_rank(struct infos *infos, const char *key, uint32_t value);
void infos_true(struct infos *infos, const char *key);
/* @part becomes the value of @key and is empty afterwards. */
void infos_array(struct infos *infos, const char *key, struct infos *part);
/* The last one of that key, NULL: none. */
const pmix_value_t *infos_find(const pmix_info_t *v, size_t n, const char *key);
void infos_fini(struct infos *infos);

#endif
