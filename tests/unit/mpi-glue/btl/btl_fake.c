// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/mpi-glue/btl/btl_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "0123456789abcdef-fedcba9876543210"
#define VARIABLE "OMPI_MCA_orte_precondition_transports"

struct btl_calls btl_calls;
struct mca_btl_base_endpoint_t *btl_peer;
uint64_t btl_long_read;
mca_btl_base_registration_handle_t btl_far = {.region = 77,
					      .base = FAR_AWAY,
					      .memory = {.word = {1, 2, 3, 4}}};

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
	is_int(flags, MCA_BTL_ERROR_FLAGS_FATAL);
	btl_calls.errors++;
	snprintf(btl_calls.why, sizeof(btl_calls.why), "%s", text);
}

void btl_begin(void)
{
	fake_reset("udp");
	fake_start();
	memset(&btl_calls, 0, sizeof(btl_calls));
	setenv(VARIABLE, KEY, 1);
	ompi_process_info.num_procs = 1;
	ompi_process_info.num_local_peers = 0;
	is_int(btl_pm_open(false), OPAL_SUCCESS);
	btl_pm.on_error = on_error;
	btl_pm.damaged = 0;
	fake.long_read = btl_long_read;
	btl_peer = btl_pm_endpoint(mtl_pm_peer_of_node(PEER));
	ok(btl_peer != NULL);
}

void btl_finish(void)
{
	while (fake_sent())
		fake_drop();
	is_int(btl_pm_finalize(&btl_pm.super), OPAL_SUCCESS);
	is_int(fake.opens, fake.closes);
	is_int(fake.locks, fake.unlocks);
}

void btl_called(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
		mca_btl_base_registration_handle_t *handle, void *context, void *data, int status)
{
	ok(btl == &btl_pm.super && endpoint == btl_peer);
	btl_calls.n++;
	btl_calls.status = status;
	btl_calls.local = local;
	btl_calls.data = data;
}

void btl_arrive(const void *head, size_t head_size, const void *data, size_t size)
{
	uint64_t *bytes = malloc(head_size + size + 8);
	struct iovec part = {bytes, head_size + size};

	memcpy(bytes, head, head_size);
	if (size)
		memcpy((char *)bytes + head_size, data, size);
	fake_arrive(PEER, &part, 1);
	mtl_pm_progress();
	/* PM has it back at the next look */
	mtl_pm_progress();
	free(bytes);
}

const struct active_request *btl_sent(size_t *ret_size)
{
	const struct fake_sent *sent = fake_sent();

	*ret_size = sent ? sent->size : 0;
	if (sent)
		is_int(sent->node, PEER);
	return sent ? (const struct active_request *)sent->bytes : NULL;
}
