// SPDX-License-Identifier: BSD-3-Clause
/* link - life and operations table of a stream link, and when it looks at its sockets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pm-udp/stream/private.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/stats.h"
#include "pmcore/util/text.h"

/*
 * A look at the set is a system call. It is made at each poll while this process connects. It is
 * also made at each poll while others may read from here and something came by a connection in the
 * last QUIET_LOOKS polls. Else it is made once in BUSY_LOOKS while there is anything to do. Without
 * anything the composite asks in each 32nd round only (is_empty). Of those rounds one in IDLE_LOOKS
 * looks for processes that connect, or each one where they may do so for exported memory: strangers
 * cost no more.
 */
#define QUIET_LOOKS 1024u
#define BUSY_LOOKS 16u
#define IDLE_LOOKS 32u
#define EVENTS 32 /* of a look */
/*
 * So often at each poll for a connection that is being made; then its owner computes, and will
 * answer when it does.
 */
#define JOIN_LOOKS 4096u
/*
 * Data that a reader does not take for so long while this process wants to be quiet are dropped,
 * with the connection.
 */
#define STUCK_NS 2000000000ull
/*
 * A sleeper with reads under way looks whether their owner is there, one that accepts nothing
 * whether it can now.
 */
#define DOUBT_NS 100000000ull

static void stream_close(struct pm_link *link)
{
	struct pmt_link *s = pmt_of(link);

	pmt_owner_close(s);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s->reads);
	free(s);
}

static int find_rails(struct pmt_link *s)
{
	int n = pmu_addr_rails(s->env.conf, s->rails, s->env.why, s->env.why_size);

	if (n < 0)
		return n;
	s->n_rails = (uint32_t)n;
	return 0;
}

static uint32_t strangers_max(uint32_t nodes, uint32_t rails)
{
	uint64_t n = PMT_STRANGERS + (uint64_t)nodes * rails;

	return n < PMT_STRANGERS_MOST ? (uint32_t)n : PMT_STRANGERS_MOST;
}

static int stream_open(const struct pm_device_env *env, struct pm_link **ret_link)
{
	struct pmt_link *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->link.ops = &pm_stream_ops;
	s->link.is_expensive = true;
	s->host = pmu_addr_host();
	TAILQ_INIT(&s->strangers);
	TAILQ_INIT(&s->owned);
	TAILQ_INIT(&s->closed);
	TAILQ_INIT(&s->busy);
	for (uint32_t r = 0; r < PM_RAILS_MAX; r++)
		s->listener[r].fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = s->epoll_fd < 0 ? -errno : find_rails(s);
	pmt_bound_init(&s->bound, s->n_rails ? s->n_rails : 1);
	s->n_strangers_max = strangers_max(env->nodes, s->n_rails);
	if (!err)
		err = pmt_listen(s);
	if (err) {
		stream_close(&s->link);
		return err;
	}
	*ret_link = &s->link;
	return 0;
}

static void own_address(const struct pmt_link *s, struct pmu_address *ret)
{
	*ret = (struct pmu_address){.host = s->host, .port = s->port, .n_rails = s->n_rails};
	for (uint32_t r = 0; r < s->n_rails; r++) {
		ret->rails[r].address = s->rails[r].address;
		ret->rails[r].payload = s->rails[r].payload;
		ret->rails[r].prefix = s->rails[r].prefix;
		ret->rails[r].is_loopback = s->rails[r].is_loopback;
	}
}

static int stream_address(struct pm_link *link, void *buf, size_t room)
{
	struct pmu_address own;

	own_address(pmt_of(link), &own);
	return pmu_addr_pack(&own, buf, room);
}

static int stream_peer_add(struct pm_link *link, uint32_t node, const void *addr, size_t len,
			   struct pm_link_peer **ret_peer)
{
	struct pmt_link *s = pmt_of(link);
	struct pmu_address own, remote;
	struct pmt_peer *peer;
	uint32_t payload;
	int err = pmu_addr_unpack(addr, len, &remote);

	if (err)
		return err;
	peer = calloc(1, sizeof(*peer) + s->n_rails * sizeof(peer->reading[0]));
	if (!peer)
		return -ENOMEM;
	own_address(s, &own);
	peer->rails = pmu_addr_pair(&own, &remote, true, peer->address, &payload);
	if (!peer->rails) {
		free(peer);
		return -EHOSTUNREACH;
	}
	peer->node = node;
	peer->port = remote.port;
	TAILQ_INIT(&peer->reads);
	LIST_INSERT_HEAD(&s->peers, peer, link);
	s->env.stats->peers++;
	*ret_peer = (struct pm_link_peer *)peer;
	return 0;
}

static void stream_peer_del(struct pm_link *link, struct pm_link_peer *link_peer)
{
	struct pmt_peer *peer = (struct pmt_peer *)link_peer;
	struct pmt_link *s = pmt_of(link);

	pmt_peer_break(s, peer);
	LIST_REMOVE(peer, link);
	s->env.stats->peers--;
	free(peer);
}

static void stream_forget(struct pm_link *link, uint32_t node)
{
	struct pmt_link *s = pmt_of(link);

	pmt_owned_forget(s, node);
	pmt_owned_sweep(s);
}

/* ---- progress ---- */

/*
 * Readers that are connected, or nearly, may ask for what is exported. Else it may be for readers
 * of this host only.
 */
static bool is_asked(const struct pmt_link *s)
{
	return s->n_exported && (s->n_owned || s->n_proving);
}

/*
 * Something may come by the sockets soon, so the composite asks this link as often as one that
 * costs no system call.
 */
static bool is_hot(const struct pmt_link *s)
{
	return s->n_reads || is_asked(s) || s->n_joining || !LIST_EMPTY(&s->serving);
}

static void warm_up(struct pmt_link *s)
{
	s->link.is_expensive = !is_hot(s);
	s->link.is_empty = s->link.is_expensive && !s->is_woken;
}

static bool is_due(struct pmt_link *s)
{
	uint32_t looks = ++s->looks;

	if ((s->n_joining && s->join_looks++ < JOIN_LOOKS) || s->is_woken ||
	    (is_asked(s) && s->quiet_looks < QUIET_LOOKS))
		return true;
	if (is_hot(s))
		return looks % BUSY_LOOKS == 0;
	return s->n_exported || looks % IDLE_LOOKS == 0;
}

static void take(struct pmt_link *s, struct pmt_socket *socket)
{
	/* an earlier event of the same round has closed it */
	if (socket->fd < 0)
		return;
	if (socket->kind == PMT_LISTENER)
		pmt_accept(s, socket);
	else if (socket->kind == PMT_OWNED)
		pmt_owned_input(s, (struct pmt_owned *)socket);
	else
		pmt_reading_event(s, (struct pmt_reading *)socket);
}

/* Takes what the set has to tell; the number of events. */
static int look(struct pmt_link *s)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(s->epoll_fd, events, EVENTS, 0);

	for (int i = 0; i < n; i++)
		take(s, events[i].data.ptr);
	pmt_owned_sweep(s);
	return n > 0 ? n : 0;
}

/* True: something was done. */
static bool progress(struct pmt_link *s)
{
	bool did = false;

	s->quiet_looks++;
	if (s->deaf_until && clock_monotonic_ns() >= s->deaf_until)
		pmt_hear(s);
	if (is_due(s))
		did = look(s) > 0;
	if (!LIST_EMPTY(&s->serving))
		did |= pmt_serve(s);
	if (s->n_reads)
		did |= pmt_collect(s);
	if (did)
		s->quiet_looks = 0;
	s->moves += did;
	s->is_woken = false;
	warm_up(s);
	return did;
}

static int stream_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey,
		       uint64_t roffset, void *local, uint64_t len, uint32_t *ret_op)
{
	int err = pmt_read(link, peer, rkey, roffset, local, len, ret_op);

	warm_up(pmt_of(link));
	return err;
}

static int stream_receive(struct pm_link *link, struct pm_inbound *ret)
{
	(void)ret;
	progress(pmt_of(link));
	return 0;
}

static void stream_exported(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len)
{
	struct pmt_link *s = pmt_of(link);

	(void)rkey, (void)addr, (void)len;
	s->n_exported++;
	s->quiet_looks = 0;
	warm_up(s);
}

/*
 * The region of a request is looked up before each call that sends, so nothing touches it from here
 * on.
 */
static void stream_unexport(struct pm_link *link, uint64_t rkey, void *addr, uint64_t len)
{
	(void)rkey, (void)addr, (void)len;
	pmt_of(link)->n_exported--;
}

/* ---- sleeping ---- */

static int stream_poll_fds(struct pm_link *link, int *fds, int room)
{
	if (room < 1)
		return 0;
	fds[0] = pmt_of(link)->epoll_fd;
	return 1;
}

static void stream_disarm(struct pm_link *link)
{
	struct pmt_link *s = pmt_of(link);
	struct pmt_owned *o;

	s->is_woken = true;
	warm_up(s);
	LIST_FOREACH(o, &s->serving, serving)
		if (o->socket.wants_room)
			(void)pmt_watch(s, &o->socket, false);
}

static int stream_arm(struct pm_link *link, uint64_t *timeout_ns)
{
	struct pmt_link *s = pmt_of(link);
	struct pmt_owned *o;
	bool is_news;

	s->is_woken = true;
	is_news = progress(s) || s->has_news;
	s->has_news = false;
	if (is_news)
		return 1;
	LIST_FOREACH(o, &s->serving, serving) {
		if (pmt_watch(s, &o->socket, true)) {
			stream_disarm(link);
			return 1;
		}
	}
	if ((s->n_reads || s->deaf_until) && *timeout_ns > DOUBT_NS)
		*timeout_ns = DOUBT_NS;
	if (s->n_unasked && s->n_busy > 1 && *timeout_ns > PMT_SILENT_NS)
		*timeout_ns = PMT_SILENT_NS;
	return 0;
}

/* ---- state ---- */

static int stream_quiesce(struct pm_link *link)
{
	struct pmt_link *s = pmt_of(link);
	uint64_t now = clock_monotonic_ns();

	if (!s->is_quiet)
		s->moved_ns = now;
	s->is_quiet = true;
	s->is_woken = true;
	progress(s);
	if (s->moves != s->moves_seen)
		s->moved_ns = now;
	s->moves_seen = s->moves;
	if (now - s->moved_ns >= STUCK_NS)
		pmt_owned_drop_stuck(s);
	return s->n_reads || !LIST_EMPTY(&s->serving) ? -EAGAIN : 0;
}

static void stream_resume(struct pm_link *link)
{
	pmt_of(link)->is_quiet = false;
}

static int stream_dump(struct pm_link *link, char *buf, size_t room)
{
	const struct pmt_link *s = pmt_of(link);
	struct text text = {.buf = buf, .room = room};
	const struct pmt_peer *peer;

	text_add(&text, "stream: port %u, %u rails, read by %u connections, %u reads under way\n",
		 s->port, s->n_rails, s->n_owned, s->n_reads);
	LIST_FOREACH(peer, &s->peers, link)
		text_add(&text, "  node %u: %u of %d connections open\n", peer->node, peer->n_open,
			 __builtin_popcount(peer->rails));
	return (int)text.len;
}

static uint64_t stream_memory(struct pm_link *link)
{
	const struct pmt_link *s = pmt_of(link);

	return sizeof(*s) + (s->n_owned + s->n_strangers) * sizeof(struct pmt_owned) +
	       s->env.stats->peers *
		       (sizeof(struct pmt_peer) + s->n_rails * sizeof(struct pmt_reading)) +
	       s->n_readers * PMT_PARTS * (sizeof(struct pmt_part) + PMT_REQUEST) +
	       (s->reads ? PMT_READS * sizeof(*s->reads) : 0);
}

/* ---- messages go by another link ---- */

static uint32_t stream_mtu(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static int stream_get_send(struct pm_link *link, struct pm_link_peer *peer, uint32_t len,
			   void **ret_buf, uint64_t *ret_cookie)
{
	(void)link, (void)peer, (void)len, (void)ret_buf, (void)ret_cookie;
	return -EHOSTUNREACH;
}

static int stream_send(struct pm_link *link, struct pm_link_peer *peer, uint64_t cookie,
		       uint32_t len)
{
	(void)link, (void)peer, (void)cookie, (void)len;
	return -EHOSTUNREACH;
}

static int stream_send_done(struct pm_link *link, struct pm_link_peer *peer)
{
	(void)link, (void)peer;
	return 0;
}

static void stream_release(struct pm_link *link, uint64_t cookie)
{
	(void)link, (void)cookie;
}

const struct pm_link_ops pm_stream_ops = {
	.abi = PM_DEVICE_ABI,
	.size = sizeof(struct pm_link_ops),
	.name = "stream",
	.open = stream_open,
	.close = stream_close,
	.address = stream_address,
	.peer_add = stream_peer_add,
	.peer_del = stream_peer_del,
	.forget = stream_forget,
	.mtu = stream_mtu,
	.get_send = stream_get_send,
	.send = stream_send,
	.send_done = stream_send_done,
	.receive = stream_receive,
	.release = stream_release,
	.read = stream_read,
	.rma_done = pmt_read_done,
	.is_read_by = pmt_is_read_by,
	.exported = stream_exported,
	.unexport = stream_unexport,
	.poll_fds = stream_poll_fds,
	.arm = stream_arm,
	.disarm = stream_disarm,
	.quiesce = stream_quiesce,
	.resume = stream_resume,
	.dump = stream_dump,
	.memory = stream_memory,
};
