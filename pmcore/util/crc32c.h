/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crc32c - the Castagnoli checksum (RFC 3720, B.4) of bytes, in as many pieces as they lie in
 * memory. Uses the CPU's instruction when it has one. Knows no format.
 */
#ifndef PM_UTIL_CRC32C_H
#define PM_UTIL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues @crc (0 to start) over @len more bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
/* The same without the instruction; what crc32c does on CPUs that lack it. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);

#endif
