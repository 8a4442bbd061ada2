/* SPDX-License-Identifier: BSD-3-Clause */
/* packet - the datagrams of scstest: a fixed header, then data named by a seed. */
#ifndef SCSTEST_PACKET_H
#define SCSTEST_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pm.h"
#include "pmcore/tools/common/pattern.h"

#define PACKET_MAGIC 0x54534353u /* "SCST" */

enum packet_kind {
	PACKET_DATA = 1, /* data follow */
	PACKET_HELLO,    /* struct packet_hello follows: my memory */
	PACKET_WRITTEN,  /* your place for me holds size bytes of stream seed */
	PACKET_CHECKED,  /* I have looked at them */
	PACKET_END,      /* no more data, reads or writes from me */
	PACKET_TOTALS,   /* struct totals follows, to node 0 */
};

struct packet {
	uint32_t magic;
	uint32_t kind;   /* enum packet_kind */
	uint64_t number; /* of the datagrams from this sender to this receiver, from 0 */
	uint64_t seed;   /* of the data */
	uint64_t size;   /* of the data, bytes */
	uint64_t check;  /* packet_check of the rest and of a body that is no data */
};
_Static_assert(sizeof(struct packet) == 40, "sent as it lies");

/* A sum that finds a damaged header, lest it be taken for loss; @body: whole words. */
static inline uint64_t packet_check(const struct packet *head, const void *body, size_t len)
{
	uint64_t words[4], state = len, word;

	memcpy(words, head, sizeof(words));
	for (size_t i = 0; i < 4; i++) {
		state ^= words[i];
		state = pattern_random(&state);
	}
	for (size_t i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, (const char *)body + i, 8);
		state ^= word;
		state = pattern_random(&state);
	}
	return state;
}

/* Memory of a node that all others use. */
struct packet_hello {
	pmHandle source; /* to read: source_size bytes of stream seed */
	pmHandle places; /* to write: place_size bytes per node, at node * place_size */
	uint64_t seed;
	uint64_t source_size; /* bytes */
	uint64_t place_size;  /* bytes */
};

#endif
