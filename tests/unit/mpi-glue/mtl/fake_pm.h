/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_pm - PM without a network below Open MPI's component: datagrams that are sent are kept in
 * order, the test says which buffers and reads there are. Open MPI is linked and never started:
 * requests are the test's own.
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
#define FAKE_ROWS 128
#define FAKE_CONTEXT 5 /* id of the communicator */
#define FAKE_ROOM (1 << 20)

struct fake_sent {
	struct fake_sent *next;
	pmNode node;
	size_t size;
	bool is_corked; /* PM may hold it */
	_Alignas(8) char bytes[FAKE_MTU];
};

struct fake_read {
	pmNode node;
	uint64_t from;
	char *to;
	size_t size;
	int rc;            /* of pmIsReadDone(); ENOBUFS: it runs */
	bool is_write;     /* of pmWrite(): @from is where it goes, @to where the bytes are */
	pmAtomicOp atomic; /* of pmAtomic(), @from is where; else its kind is 0 */
	uint64_t before;   /* ... the value that it finds */
};

/* PM has received datagrams in a row, or there is an error in their place. */
struct fake_row {
	pmNode node;
	int error; /* 0: none */
	struct iovec parts[MTL_PM_ROW];
	size_t n;
};

struct fake_pm {
	const char *device; /* of all nodes */
	uint64_t long_read; /* of it */
	int send_buffers;   /* that there are; then ENOBUFS */
	int send_error;     /* of all that sends, if not 0 */
	int send_out;       /* of pmIsSendOut() */
	int stream;         /* of pmIsStreamOpen(); ENOBUFS: there is none */
	int lock_error;     /* of pmMLock() */
	const void *locked; /* by the last one */
	size_t locked_size;
	int locks, unlocks;
	struct fake_row rows[FAKE_ROWS]; /* all that has arrived */
	size_t n_rows, n_taken;
	pmDesc lent;              /* the row that was taken last; 0: it was given back */
	int polls;                /* looks for what has arrived */
	void (*on_poll)(void);    /* may be NULL */
	struct pmOptions options; /* of the context that was opened */
	int open_error, address_error, quiesce_error;
	int opens, closes, quiesces, resumes;
	int hold_error, suspend_error, revive_error;
	int mtu_error;        /* of pmGetMtu() */
	void (*at_mtu)(void); /* called in it; NULL: nothing */
	char steps[64]; /* a letter of each: hold, quiesce, suspend, Revive, resume: "hqsRr" */
	void (*at_step)(void); /* called in each; NULL: nothing */
	char config[64];       /* of the last pmRevive() */
	uint64_t job_key;      /* the same */
	const char *note;      /* of the context; NULL: none */
	int read_error;        /* of pmRead() */
	struct fake_sent *first, **last;
	struct fake_read reads[FAKE_READS];
	size_t n_reads;
	int n_probes, probe_error;
	int corks, uncorks;
	int rounds;             /* of pmBeforeSelect */
	int arms;               /* ... without their pmAfterSelect */
	void (*at_round)(void); /* called in each; NULL: nothing */
	int round_error;        /* of each; 0: none */
	int wait_fd, wait_ms;   /* that PM wants to be waited for */
	bool is_waiting;        /* a message waits for the program, so nobody may sleep */
	bool is_owed;           /* something sent is not acknowledged */
};

extern struct fake_pm fake;

/* A send with its request. */
struct fake_send {
	struct mtl_pm_request req;
	struct ompi_request_t ompi;
};

/* A receive with its request and memory. */
struct fake_receive {
	struct mtl_pm_request req;
	struct ompi_request_t ompi;
	char data[FAKE_ROOM];
};

#define FAKE_ADDRESS "address"
#define FAKE_NODE 7 /* ours */

/* PM as it is at first; a device of that name leads to all nodes. */
void fake_reset(const char *device);
/* The same, and the component's lists, empty. */
void fake_open(const char *device);
void fake_close(void);

/*
 * They arrive, behind all that did before; the bytes are the test's, and are overwritten when PM
 * has them back.
 */
void fake_arrive(pmNode node, const struct iovec *parts, size_t n);
/* PM finds that error, of the node. */
void fake_arrive_error(pmNode node, int error);

/* The oldest datagram, NULL: none; it is forgotten with fake_drop(). */
const struct fake_sent *fake_sent(void);
void fake_drop(void);
/* The oldest datagram is a control message of this kind and id for the node. It is forgotten. */
void fake_sent_control(pmNode node, enum envelope_kind kind, uint64_t id);

/* The oldest datagram is for the node and is made of this head and these data. It is forgotten. */
void fake_sent_data(pmNode node, const void *head, size_t head_size, const void *data, size_t size);

/* Ready to send @length bytes in one piece to the peer. */
void fake_prepare_send(struct fake_send *s, struct mtl_pm_peer *peer, const char *data,
		       size_t length);
/* Ready for @room bytes; posted for that source and tag. */
void fake_prepare(struct fake_receive *r, size_t room);
void fake_post(struct fake_receive *r, int32_t source, int32_t tag, size_t room);
/* The oldest request that is complete, which is forgotten; NULL: none. */
struct mtl_pm_request *fake_completed(void);

#endif
