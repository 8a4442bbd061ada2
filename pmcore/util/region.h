/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * region - the memory regions a context exports by pmMLock. Owns the table rkey -> (address,
 * length); every device looks ranges up here before it touches user memory. Not thread-safe.
 */
#ifndef PM_UTIL_REGION_H
#define PM_UTIL_REGION_H

#include <stdbool.h>
#include <stdint.h>

struct region_table;

struct region_table *region_table_create(uint64_t seed);
void region_table_destroy(struct region_table *table);
/* Adds a region and gives its unguessable key. -ENOMEM, -EINVAL (len 0 or wrapping). */
int region_add(struct region_table *table, void *addr, uint64_t len, uint64_t *ret_rkey);
/* The same of memory that others may read and never write. */
int region_add_readonly(struct region_table *table, const void *addr, uint64_t len,
			uint64_t *ret_rkey);
/* -ENOENT: no such region. */
int region_remove(struct region_table *table, uint64_t rkey, void **ret_addr, uint64_t *ret_len);
/*
 * Translates [offset, offset+len) of a region; -EACCES when unknown or outside. For reading only.
 */
int region_find(const struct region_table *table, uint64_t rkey, uint64_t offset, uint64_t len,
		void **ret_addr);
/* The same for writing: -EACCES also when the region is read-only. */
int region_find_writable(const struct region_table *table, uint64_t rkey, uint64_t offset,
			 uint64_t len, void **ret_addr);
/* Calls @fn for each region; it must not change the table. */
void region_each(const struct region_table *table,
		 void (*fn)(void *arg, uint64_t rkey, void *addr, uint64_t len), void *arg);
/* All of a region, for devices that register it with hardware. -EACCES: unknown. */
int region_whole(const struct region_table *table, uint64_t rkey, void **ret_addr,
		 uint64_t *ret_len, bool *ret_is_readonly);

#endif
