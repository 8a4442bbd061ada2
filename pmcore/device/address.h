/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address - the context address that travels by modex: one section per link, named by the link.
 * Bytes from other processes are checked here and nowhere else; sections are opaque.
 *
 *   u8 version, u8 sections, u16 length of all, u32 node; then per section: char name[8], u16
 *   length,
 *   bytes. Little-endian.
 */
#ifndef PM_DEVICE_ADDRESS_H
#define PM_DEVICE_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#define ADDRESS_HEADER 8
#define ADDRESS_SECTION 10

/* Starts an address in @buf; returns its length so far or -ENOSPC. */
int address_begin(uint8_t *buf, size_t room, uint32_t node);
/* Where the next section's bytes go, and the room for them. NULL: no room left. */
uint8_t *address_room(uint8_t *buf, size_t room, size_t *ret_room);
/* Adds the section whose @len bytes were written to address_room(); returns the length of all. */
int address_add(uint8_t *buf, const char *name, size_t len);

/* Checks the whole address; -EINVAL when damaged or of another node than @node. */
int address_check(const void *addr, size_t len, uint32_t node);
/* The section of link @name of a checked address: 0, or -EHOSTUNREACH when it has none. */
int address_find(const void *addr, size_t len, const char *name, const void **ret_part,
		 size_t *ret_len);

#endif
