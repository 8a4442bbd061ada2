/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btl_fake - btl/pm open above the fake of PM that mtl/pm's tests have, with one peer, and the
 * callbacks of operations.
 */
#ifndef TESTS_UNIT_MPI_GLUE_BTL_FAKE_H
#define TESTS_UNIT_MPI_GLUE_BTL_FAKE_H

#include "mpi-glue/btl/btl_pm.h"
#include "tests/unit/mpi-glue/mtl/fake_mpi.h"

#define PEER 3
#define FAR_AWAY 0x10000u /* address of memory of the peer */

/* The parameters of a function of Open MPI that takes messages, and the message's tag. */
#if OMPI_MAJOR_VERSION >= 5
#define MESSAGE_PARAMETERS                                                                         \
	mca_btl_base_module_t *btl, const mca_btl_base_receive_descriptor_t *descriptor
#define MESSAGE_TAG descriptor->tag
#else
#define MESSAGE_PARAMETERS                                                                         \
	mca_btl_base_module_t *btl, mca_btl_base_tag_t tag, mca_btl_base_descriptor_t *descriptor, \
		void *arg
#define MESSAGE_TAG tag
#endif

struct btl_calls {
	int n;      /* callbacks of operations */
	int status; /* of the last one */
	void *local;
	void *data;
	int errors; /* of Open MPI's error handler */
	char why[256];
};

extern struct btl_calls btl_calls;
extern struct mca_btl_base_endpoint_t *btl_peer;
/* PM's limit of long reads when the peer is made. */
extern uint64_t btl_long_read;
/* Of memory of the peer, FAR_AWAY and behind. */
extern mca_btl_base_registration_handle_t btl_far;

void btl_begin(void);
void btl_finish(void);
/* For operations. */
void btl_called(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
		mca_btl_base_registration_handle_t *handle, void *context, void *data, int status);
/* A datagram of the peer arrives, of a copy of these bytes; and all that it leads to. */
void btl_arrive(const void *head, size_t head_size, const void *data, size_t size);
/* The oldest datagram that was sent, which goes to the peer; NULL: none. */
const struct active_request *btl_sent(size_t *ret_size);

#endif
