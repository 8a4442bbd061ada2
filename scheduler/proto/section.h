/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * section - "scheduler" of cluster.json: where scored is and how the daemons work. A value that is
 * not given there is 0 or NULL; the reader has the defaults.
 */
#ifndef SCHEDULER_PROTO_SECTION_H
#define SCHEDULER_PROTO_SECTION_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define SECTION_SERVER_PORT "7710"

struct section {
	char *server;      /* "HOST:PORT" of scored */
	char *port;        /* of scored */
	char *node_port;   /* of every scnoded */
	char *operators;   /* user names with commas */
	char *state;       /* directory */
	char *checkpoints; /* directory, on every host */
	uint64_t quantum_ns;
	uint32_t rows;
	uint32_t memory; /* percent of a host's memory that one job may have */
};

/*
 * Of a whole cluster.json; one without the section leaves @ret empty. 0, -EINVAL or -ENOMEM and a
 * sentence.
 */
int section_read(struct section *ret, const json_t *cluster, char *why, size_t why_size);
/* The same from a file, which must be there. */
int section_load(struct section *ret, const char *path, char *why, size_t why_size);
void section_fini(struct section *section);

#endif
