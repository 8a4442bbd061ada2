/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_pm - PM without a network below Open MPI's component: datagrams that are sent are kept in order, the test says which
 * buffers and reads there are. Open MPI is linked and never started: requests are the test's own.
 */
#ifndef TESTS_UNIT_MPI_GLUE_MTL_FAKE_PM_H
#define TESTS_UNIT_MPI_GLUE_MTL_FAKE_PM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi-glue/mtl/mtl_pm.h"
#include "tests/harness/tap.h"

#define FAKE_MTU 4096
#define FAKE_READS 64
#define FAKE_CONTEXT 5 /* id of the communicator */
#define FAKE_ROOM (1 << 20)

struct fake_sent {
	struct fake_sent *next;
	pmNode node;
	size_t size;
	_Alignas(8) char bytes[FAKE_MTU];
};

struct fake_read {
	pmNode node;
	uint64_t from;
	char *to;
	size_t size;
	int rc; /* of pmIsReadDone(); ENOBUFS: it runs */
};

struct fake_pm {
	const char *device; /* of all nodes */
	uint64_t long_read; /* of it */
	int send_buffers;   /* that there are; then ENOBUFS */
	int read_error;     /* of pmRead() */
	struct fake_sent *first, **last;
	struct fake_read reads[FAKE_READS];
	size_t n_reads;
	int n_probes, probe_error;
	int corks, uncorks;
	int rounds;             /* of pmBeforeSelect */
	int arms;               /* ... without their pmAfterSelect */
	void (*at_round)(void); /* called in each; NULL: nothing */
	bool is_waiting;        /* a message waits for the program, so nobody may sleep */
	bool is_owed;           /* something sent is not acknowledged */
};

extern struct fake_pm fake;

/* A receive with its request and memory. */
struct fake_receive {
	struct mtl_pm_request req;
	struct ompi_request_t ompi;
	char data[FAKE_ROOM];
};

/* The component's lists, empty; a device of that name leads to all nodes. */
void fake_open(const char *device);
void fake_close(void);

/* The oldest datagram, NULL: none; it is forgotten with fake_drop(). */
const struct fake_sent *fake_sent(void);
void fake_drop(void);
/* The oldest datagram is a control message of this kind and id for the node. It is forgotten. */
void fake_sent_control(pmNode node, enum envelope_kind kind, uint64_t id);

/* Ready for @room bytes; posted for that source and tag. */
void fake_prepare(struct fake_receive *r, size_t room);
void fake_post(struct fake_receive *r, int32_t source, int32_t tag, size_t room);
/* The oldest request that is complete, which is forgotten; NULL: none. */
struct mtl_pm_request *fake_completed(void);

#endif
