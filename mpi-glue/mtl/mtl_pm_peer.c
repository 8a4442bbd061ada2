// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_peer - one struct per process we have talked with: made at first contact, from a rank that
 * is sent to or a node that wrote. Owns the table of peers and the address look-up PM asks for.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/common/job.h"
#include "mpi-glue/mtl/mtl_pm_context.h"
#include "mpi-glue/mtl/mtl_pm_orders.h"

#include "opal/util/show_help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* PM asks for the address of a node at first contact. */
int mtl_pm_resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len)
{
	opal_process_name_t name = mtl_pm_name_of_node(node);
	void *address = NULL;
	size_t len = 0;
	int rc;

	if (mtl_pm.is_helping)
		return EAGAIN;
	if (mtl_pm_order_has_changed_address(node)) {
		address = mtl_pm_order_address(node, &len);
		rc = OMPI_SUCCESS;
	} else {
		OPAL_MODEX_RECV(rc, &mca_mtl_pm_component.mtl_version, &name, &address, &len);
	}
	if (rc != OMPI_SUCCESS || !address)
		return EHOSTUNREACH;
	free(mtl_pm.resolved);
	mtl_pm.resolved = address;
	*ret_addr = address;
	*ret_len = len;
	return 0;
}

char *mtl_pm_host_of_node(pmNode node)
{
	opal_process_name_t name = mtl_pm_name_of_node(node);
	char *host = NULL;
	int rc;

	OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, MTL_PM_KEY_HOSTNAME, &name, &host, MTL_PM_TYPE_STRING);
	return rc == OMPI_SUCCESS ? host : NULL;
}

/*
 * Limits by device, measured (8 KiB to 4 MiB, half RTT and windows of 64). In shared memory a
 * datagram costs little, so streaming beats reading until the gain of a single copy counts. On a
 * network a read takes a request more, while datagrams share system calls: up to 256 KiB they are 5
 * to 10 % faster alone and 10 to 30 % with many in flight. Above that the receiver decides the
 * pace, so that many senders don't meet in its switch port. An adapter that reads by itself (verbs)
 * does it from the size at which the copies cost more than the request. Data that are packed can't
 * be read, so there the answer buys less: at 512 KiB they are 6 to 14 % faster unasked, above that
 * no longer by direct and port attachment.
 */
struct limits {
	const char *device;
	ssize_t middle, shared, packed;
	size_t pull, head;
};

/*
 * shared: the middle limit while others run on our core. Without a stream a longer message is read
 * by several requests. Each waits until both ranks have had their cores, which takes milliseconds.
 * Data that leaves unasked waits for credit.
 */
#define SHARED_LIMIT (4 << 20)

/*
 * Of a message in a burst of many bytes, where a stream leads to the peer; 64 in flight, 16 KiB 3.6
 * in place of 2.7 GB/s.
 */
#define BURST_LIMIT 8192

static const struct limits of_devices[] = {
	{"shmem", 65535, 65535, 65536, WAYS_MIN - 1, 0},
	{"self", 32768, 32768, 32768, 0, 0},
	{"ethernet", 262144, SHARED_LIMIT, 524288, 0, 131072},
	{"udp", 262144, SHARED_LIMIT, 524288, 0, 131072},
	{"verbs", 32768, 32768, 32768, 0, 98304},
};

/*
 * Shared memory puts so much beside the envelope, without a place elsewhere. Longer messages are
 * aligned.
 */
#define POST_LIMIT 2024

/* A node that no device reaches yet. */
static const struct limits of_unknown = {"", 32768, 32768, 32768, 0, 0};

static const struct limits *limits_of(const char *device)
{
	for (size_t i = 0; i < sizeof(of_devices) / sizeof(*of_devices); i++)
		if (!strcmp(device, of_devices[i].device))
			return &of_devices[i];
	return &of_unknown;
}

/* Messages that fit one datagram, or could not be read, are not announced. */
static size_t burst_limit(const struct mtl_pm_peer *peer)
{
	size_t limit = BURST_LIMIT;

	if (peer->eager_limit > (ssize_t)limit)
		limit = (size_t)peer->eager_limit;
	return peer->pull_limit > limit ? peer->pull_limit : limit;
}

static void set_limits(struct mtl_pm_peer *peer)
{
	const char *device = "";
	bool is_known = !pmGetDeviceName(mtl_pm.ctx, peer->node, &device);
	bool is_shmem = is_known && !strcmp(device, "shmem");
	const struct limits *limits = limits_of(is_known ? device : "");
	uint64_t long_read = 0;

	if (is_known && pmGetLongRead(mtl_pm.ctx, peer->node, &long_read))
		long_read = 0;

	peer->aligns = is_shmem;
	peer->post_limit = is_shmem ? POST_LIMIT : 0;
	peer->gathers = is_known && !is_shmem && strcmp(device, "self") != 0;
	peer->eager_limit = (ssize_t)(peer->mtu - sizeof(struct envelope));
	peer->middle_limit = peer->shared_limit = peer->packed_limit = mtl_pm.middle_limit;
	if (mtl_pm.middle_limit < 0) {
		peer->middle_limit = limits->middle;
		peer->shared_limit = limits->shared;
		peer->packed_limit = limits->packed;
	}
	/*
	 * Of a message that is read by a stream, a head in datagrams would only come later than its
	 * rest. The one request costs less than the turns of datagrams and acks, also where others
	 * run on our core.
	 */
	if (mtl_pm.middle_limit < 0 && long_read)
		peer->middle_limit = peer->shared_limit = (ssize_t)long_read - 1;
	peer->head_limit = (size_t)mtl_pm.head_limit;
	if (mtl_pm.head_limit < 0)
		peer->head_limit = long_read ? 0 : limits->head;
	peer->pull_limit = (size_t)mtl_pm.pull_limit;
	if (mtl_pm.pull_limit < 0)
		peer->pull_limit = limits->pull;
	peer->stages = long_read;
	peer->burst_limit = 0;
	if (mtl_pm.middle_limit < 0 && long_read)
		peer->burst_limit = burst_limit(peer);
	peer->ways = NULL;
	if (!is_shmem || mtl_pm.pull_limit >= 0 || mtl_pm.middle_limit >= 0)
		return;
	if (!peer->measured)
		peer->measured = calloc(1, sizeof(*peer->measured));
	peer->ways = peer->measured;
}

void mtl_pm_peer_choke(struct mtl_pm_peer *peer, bool is_choked)
{
	if (is_choked || peer->is_dead) {
		peer->eager_limit = -1;
		peer->middle_limit = peer->shared_limit = peer->packed_limit = -1;
		peer->burst_limit = 0;
		peer->head_limit = 0;
	} else {
		set_limits(peer);
	}
}

struct mtl_pm_peer *mtl_pm_peer_of_node(pmNode node)
{
	struct mtl_pm_peer *peer = table_get(&mtl_pm.peers, node);
	size_t mtu;

	if (peer)
		return peer;
	if (pmGetMtu(mtl_pm.ctx, node, &mtu))
		return NULL;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->node = node;
	peer->mtu = mtu;
	TAILQ_INIT(&peer->sends);
	TAILQ_INIT(&peer->streams);
	STAILQ_INIT(&peer->gathered);
	STAILQ_INIT(&peer->notes);
	TAILQ_INIT(&peer->reads);
	TAILQ_INIT(&peer->waiting);
	set_limits(peer);
	if (table_put(&mtl_pm.peers, node, peer)) {
		free(peer->measured);
		free(peer);
		return NULL;
	}
	if (peer->gathers && mtl_pm.at_network)
		mtl_pm.at_network();
	return peer;
}

bool mtl_pm_peer_meet_again(struct mtl_pm_peer *peer)
{
	bool is_choked = peer->eager_limit < 0;

	if (pmGetMtu(mtl_pm.ctx, peer->node, &peer->mtu))
		return false;
	peer->asked = 0;
	peer->ask_ns = 0;
	if (peer->measured)
		ways_spoil(peer->measured);
	peer->asked_classes = peer->read_classes = 0;
	set_limits(peer);
	if (is_choked)
		mtl_pm_peer_choke(peer, true);
	if (peer->gathers && mtl_pm.at_network)
		mtl_pm.at_network();
	if (mtl_pm.client)
		mtl_pm.client->met_again(peer);
	return true;
}

static struct mtl_pm_peer *show_unreachable(pmNode node, const char *why)
{
	char *host = mtl_pm_host_of_node(node);

	opal_show_help("help-mtl-pm.txt", "unreachable", true, ompi_process_info.nodename,
		       job_node_rank(node), host ? host : "unknown host", why);
	free(host);
	return NULL;
}

struct mtl_pm_peer *mtl_pm_peer_make(struct ompi_communicator_t *comm, int rank)
{
	struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
	const opal_process_name_t *name = &proc->super.proc_name;
	struct mtl_pm_peer *peer;
	uint32_t node;

	if (mtl_pm_is_foreign(name->jobid)) {
		mtl_pm_say("other mpirun", ompi_process_info.nodename, name->vpid);
		return NULL;
	}
	if (job_node(mtl_pm_local_job(name->jobid), name->vpid, &node))
		return show_unreachable(name->vpid, "the job has too many ranks or jobs");
	peer = mtl_pm_peer_of_node(node);
	if (!peer)
		return show_unreachable(node, pmLastError());
	proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = peer;
	return peer;
}

void mtl_pm_show_failure(pmNode node, const char *what, int error)
{
	char *host;

	/* Of a dead peer people have been told once, by mtl_pm_peer_died. */
	if (error == EPIPE)
		return;
	if (mtl_pm.is_helping) {
		if (mtl_pm.kept.failed)
			return;
		mtl_pm.kept.is_full = true;
		mtl_pm.kept.failed = what;
		mtl_pm.kept.failed_node = node;
		mtl_pm.kept.error = error;
		return;
	}
	host = mtl_pm_host_of_node(node);
	mtl_pm_say("failed", ompi_process_info.nodename, what, job_node_rank(node),
		   host ? host : "unknown host", pmErrorString(error));
	free(host);
}

void mtl_pm_peer_busy(struct mtl_pm_peer *peer)
{
	if (peer->is_busy)
		return;
	peer->is_busy = true;
	TAILQ_INSERT_TAIL(&mtl_pm.busy, peer, busy);
}

bool mtl_pm_node_of_rank(struct ompi_communicator_t *comm, int rank, pmNode *ret_node)
{
	struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);

	return proc && !mtl_pm_is_foreign(proc->super.proc_name.jobid) &&
	       !job_node(mtl_pm_local_job(proc->super.proc_name.jobid), proc->super.proc_name.vpid,
			 ret_node);
}

bool mtl_pm_rank_is_dead(struct ompi_communicator_t *comm, int rank)
{
	struct mtl_pm_peer *peer;

	if (rank == MATCH_ANY_SOURCE)
		return false;
	peer = mtl_pm_peer_of(comm, rank);
	return !peer || peer->is_dead;
}
