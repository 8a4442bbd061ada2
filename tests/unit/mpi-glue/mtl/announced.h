/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * announced - a long message to a peer by udp: it is announced, and the test answers for its
 * receiver.
 */
#ifndef TESTS_UNIT_MPI_GLUE_MTL_ANNOUNCED_H
#define TESTS_UNIT_MPI_GLUE_MTL_ANNOUNCED_H

#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define ANNOUNCED_NODE 3
#define ANNOUNCED_SIZE (1 << 20)
#define ANNOUNCED_HEAD 131072 /* bytes that go with the announcement */
#define ANNOUNCED_REPLY 4711  /* the receiver's operation */
#define MORE sizeof(struct envelope_control)

extern struct fake_send announced;
extern struct mtl_pm_peer *announced_peer;
extern char announced_data[ANNOUNCED_SIZE];

/* The send is ready, and may still be changed. */
void announced_begin(void);
void announced_submit(void);
void announced_finish(void);

/* A receiver answers with FIN, and with PULL. */
void announced_answer(uint64_t id, bool is_error, struct mtl_pm_peer *from);
void announced_pull(uint64_t id, uint64_t wanted);

/* Its request is complete, with this error of MPI, and nothing of it is left. */
void announced_has_ended(int error);

/* Takes the datagrams of this kind that carry what is behind @from; where they end. */
size_t announced_take(enum envelope_kind kind, size_t from);
/* Takes the announcement, and the data in it. */
struct envelope_rts announced_take_rts(void);

#endif
