// SPDX-License-Identifier: BSD-3-Clause
#include "pm-shmem/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pm-shmem/bulk.h"
#include "pm-shmem/cma.h"

static int device_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct pms_link *link = calloc(1, sizeof(*link));
	int err;

	if (!link)
		return -ENOMEM;
	link->env = *env;
	link->stats = env->stats;
	link->saved_tail = &link->saved;
	err = pms_buffers_init(link);
	if (!err)
		err = pms_segment_open(env, pms_cma_measure, &link->seg);
	if (err)
		goto out;
	err = pms_fifo_create(link->seg.dir.fd, link->seg.index, &link->fifo);
	if (err) {
		snprintf(env->why, env->why_size, "%s/%s/wake.%u: %s", env->conf->shmem_dir,
			 link->seg.dir.name, link->seg.index, strerror(-err));
		pms_segment_close(&link->seg);
		goto out;
	}
	*ret_link = &link->base;
	return 0;
out:
	pms_buffers_fini(link);
	free(link);
	return err;
}

static void device_close(struct pm_link *base)
{
	struct pms_link *link = pms_of(base);

	for (uint32_t i = 0; i < PMS_SLOTS; i++)
		if (link->peers[i])
			pms_peer_free(link, link->peers[i]);
	pms_fifo_remove(link->seg.dir.fd, link->seg.index);
	close(link->fifo);
	pms_segment_close(&link->seg);
	pms_saved_fini(link);
	pms_buffers_fini(link);
	free(link->rma);
	free(link);
}

static int device_address(struct pm_link *base, void *buf, size_t room)
{
	const struct pms_segment *seg = &pms_of(base)->seg;
	const struct pms_address address = {
		.segment = seg->header->id,
		.instance = seg->slots[seg->index].instance,
		.index = seg->index,
		.node = pms_of(base)->env.self,
	};

	if (room < sizeof(address))
		return -ENOSPC;
	memcpy(buf, &address, sizeof(address));
	return sizeof(address);
}

static uint32_t device_mtu(struct pm_link *base, struct pm_link_peer *peer)
{
	return pms_of(base)->seg.mtu;
}

/* A message in the ring costs nothing more to send. */
static void device_cork(struct pm_link *base, bool is_on)
{
}

/* Nothing is left to send: the peer reads a message from the ring itself. */
static int device_send_out(struct pm_link *base, struct pm_link_peer *peer)
{
	return 0;
}

/* A death shows in the segment's directory, whoever is asked for. */
static int device_probe(struct pm_link *base, struct pm_link_peer *peer)
{
	return 0;
}

const struct pm_link_ops pm_shmem_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "shmem",
	.open = device_open,
	.close = device_close,
	.address = device_address,
	.peer_add = pms_peer_add,
	.peer_del = pms_peer_del,
	.mtu = device_mtu,
	.get_send = pms_get_send,
	.send = pms_send,
	.post = pms_post,
	.post_row = pms_post_row,
	.carry = pms_carry,
	.is_gone = pms_is_gone,
	.probe = device_probe,
	.cork = device_cork,
	.send_out = device_send_out,
	.send_done = pms_send_done,
	.receive = pms_receive,
	.receive_more = pms_receive_more,
	.release = pms_release,
	.read = pms_read,
	.write = pms_write,
	.rma_done = pms_rma_done,
	.exported = pms_exported,
	.unexport = pms_unexport,
	.poll_fds = pms_poll_fds,
	.arm = pms_arm,
	.disarm = pms_disarm,
	.quiesce = pms_quiesce,
	.resume = pms_resume,
	.save = pms_save,
	.restore = pms_restore,
	.dump = pms_dump,
	.memory = pms_memory,
};
