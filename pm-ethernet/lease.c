// SPDX-License-Identifier: BSD-3-Clause
/*
 * lease - asks pm-ethernetd for a context and takes what it hands out. The open connection is the
 * lease; when the daemon dies the context goes on, and a resume that finds the connection broken
 * asks anew.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "pm-ethernet/device.h"
#include "pmcore/util/clock.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/forked.h"

#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9 /* Linux 6.17 */
#endif

/* The daemon may have to wait for a port that a dead process has just left. */
#define ANSWER_S 10
/* Frames the kernel takes per call. */
#define TX_BUDGET 256
/* The longest time that we wait for a daemon that was killed, and the time between two looks. */
#define RESTART_NS 3000000000ull
#define RESTART_LOOK_NS 10000000
/* Grants that may turn out void before we give up. */
#define GRANTS_MAX 16

#define explain(d, ...) snprintf((d)->env.why, (d)->env.why_size, "ethernet: " __VA_ARGS__)

/* An answer of the daemon, and the descriptors that came with it. */
struct arrival {
	struct eth_granted granted;
	int fds[ETH_FDS_MAX];
	unsigned int n_fds;
};

static void close_arrival(struct arrival *a)
{
	while (a->n_fds)
		close(a->fds[--a->n_fds]);
}

/* ---- asking ---- */

static int connect_to(struct eth_dev *d)
{
	const char *path = d->env.conf->ethernet_socket;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = ANSWER_S};
	int fd, err;

	if (strlen(path) >= sizeof(to.sun_path)) {
		explain(d, "ethernet.socket=%s: write a path of at most %zu characters", path,
			sizeof(to.sun_path) - 1);
		return -EINVAL;
	}
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err = -errno;
		explain(d, "no socket: %s", strerror(-err));
		return err;
	}
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) && !forked_close(fd)) {
		d->lease = fd;
		return 0;
	}
	err = -errno;
	close(fd);
	if (err == -ENOENT || err == -ECONNREFUSED) {
		explain(d,
			"pm-ethernetd does not run on this host (no socket %s); start it as root: "
			"pm-ethernetd --nics eth1,eth2",
			path);
		return err == -ENOENT ? -ENODEV : err;
	}
	explain(d, "pm-ethernetd can't be asked by %s: %s", path, strerror(-err));
	return err == -EINVAL || err == -ENOMEM ? -ENODEV : err;
}

static void hang_up(struct eth_dev *d)
{
	if (d->lease < 0)
		return;
	forked_keep(d->lease);
	close(d->lease);
	d->lease = -1;
}

static int fill_request(struct eth_dev *d, uint32_t op, struct eth_request *ret)
{
	const struct conf *conf = d->env.conf;
	static const uint32_t attach[] = {[CONF_ATTACH_AUTO] = ETH_ATTACH_AUTO,
					  [CONF_ATTACH_DIRECT] = ETH_ATTACH_DIRECT,
					  [CONF_ATTACH_PORT] = ETH_ATTACH_PORT};

	*ret = (struct eth_request){
		.magic = ETH_ATTACH_MAGIC,
		.version = ETH_ATTACH_VERSION,
		.op = op,
		.attach = attach[conf->ethernet_attach],
		.key = d->env.job_key,
		.local = d->env.local < ETH_SLOTS_MAX ? d->env.local : ETH_SLOTS_MAX,
		/* even: areas of odd numbers of 2 KiB chunks would not begin on pages */
		.tx_packets = (d->dev.tx_buffers + 1) & ~1u,
		.rx_packets = d->dev.rx_buffers,
		.want_context = d->granted.context,
		.n_rails = (uint16_t)conf->n_ethernet_rails,
	};
	/* a resumed context keeps its way: packets and peers were made for it */
	if (d->granted.attachment)
		ret->attach = eth_is_port(d) ? ETH_ATTACH_PORT : ETH_ATTACH_DIRECT;
	for (uint32_t r = 0; r < conf->n_ethernet_rails; r++) {
		if (strlen(conf->ethernet_rails[r]) >= ETH_NAME) {
			explain(d, "ethernet.rails=%s: no interface has so long a name",
				conf->ethernet_rails[r]);
			return -EINVAL;
		}
		strcpy(ret->rails[r], conf->ethernet_rails[r]);
	}
	return 0;
}

static ssize_t receive_answer(int fd, struct arrival *a)
{
	union {
		char room[CMSG_SPACE(ETH_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {&a->granted, sizeof(a->granted)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	bool is_reset = false;
	ssize_t len;

	/* of a refusal that crossed our question the kernel tells the end first, then gives it */
	while ((len = recvmsg(fd, &h, MSG_CMSG_CLOEXEC)) < 0 &&
	       (errno == EINTR || (errno == ECONNRESET && !is_reset)))
		is_reset = errno == ECONNRESET;
	if (len < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		a->n_fds = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(a->fds, CMSG_DATA(c), a->n_fds * sizeof(int));
	}
	if (h.msg_flags & MSG_CTRUNC) {
		close_arrival(a);
		return -EMFILE;
	}
	return h.msg_flags & MSG_TRUNC ? (ssize_t)sizeof(a->granted) + 1 : len;
}

/* One question, one answer. -EPIPE: the daemon of this connection is no more. */
static int ask(struct eth_dev *d, const struct eth_request *request, struct arrival *ret)
{
	ssize_t len = send(d->lease, request, sizeof(*request), MSG_NOSIGNAL);
	int err;

	memset(ret, 0, sizeof(*ret));
	/* one that could not be asked may have refused us before */
	if (len >= 0 || errno == EPIPE)
		len = receive_answer(d->lease, ret);
	else
		len = -errno;
	if (len == 0 || len == -ECONNRESET || len == -EPIPE || len == -ENOTCONN) {
		explain(d, "pm-ethernetd ended while it was asked; see its log");
		return -EPIPE;
	}
	if (len < 0) {
		explain(d, "no answer from pm-ethernetd: %s",
			len == -EAGAIN ? "it took too long" : strerror((int)-len));
		return len == -EAGAIN ? -ETIMEDOUT : (int)len;
	}
	err = eth_granted_check(&ret->granted, (size_t)len, ret->n_fds);
	if (err) {
		explain(d,
			"pm-ethernetd at %s answers in another version than this libpm's: "
			"install both from one build",
			d->env.conf->ethernet_socket);
		close_arrival(ret);
		return -EPROTO;
	}
	if (ret->granted.error) {
		explain(d, "%s", ret->granted.why);
		/* the daemon's shortage is not ours: other devices may still open */
		return ret->granted.error == ENOMEM || ret->granted.error == EMFILE
			       ? -ENODEV
			       : -ret->granted.error;
	}
	return 0;
}

/* ---- taking ---- */

static int map_board(struct eth_dev *d, int fd)
{
	const struct eth_board *board = mmap(NULL, sizeof(*board), PROT_READ, MAP_SHARED, fd, 0);

	if (board == MAP_FAILED)
		return -errno;
	if (board->magic != ETH_BOARD_MAGIC || board->version != ETH_BOARD_VERSION) {
		munmap((void *)board, sizeof(*board));
		return -EPROTO;
	}
	if (d->board)
		munmap((void *)d->board, sizeof(*board));
	d->board = board;
	return 0;
}

static void unmap_share(struct eth_dev *d)
{
	if (d->share)
		munmap(d->share, d->share_bytes);
	d->share = NULL;
}

static int map_share(struct eth_dev *d, int fd)
{
	const struct eth_granted *g = &d->granted;
	uint32_t chunks = g->tx_packets * g->chunks_per_packet, n;
	struct eth_share *s = mmap(NULL, sizeof(*s), PROT_READ, MAP_SHARED, fd, 0);
	bool is_fit;

	if (s == MAP_FAILED)
		return -errno;
	n = s->mailbox_entries;
	is_fit = s->magic == ETH_SHARE_MAGIC && s->n_slots == g->n_slots &&
		 s->n_rails >= d->n_sockets && s->n_rails <= ETH_RAILS && n >= chunks &&
		 !(n & (n - 1));
	d->share_bytes = eth_share_bytes(s->n_rails, s->n_slots, n);
	munmap(s, sizeof(*s));
	if (!is_fit)
		return -EPROTO;
	s = mmap(NULL, d->share_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		return -errno;
	madvise(s, d->share_bytes, MADV_DONTFORK);
	d->share = s;
	return 0;
}

static int take_socket(struct eth_dev *d, uint32_t i, int fd, int owner)
{
	const struct eth_granted *g = &d->granted;
	const uint32_t sizes[4] = {g->rx_entries, g->tx_entries, g->fill_entries,
				   g->completion_entries};
	struct eth_socket *s = &d->sockets[i];
	int budget = TX_BUDGET, err;

	s->fd = fd;
	s->is_blocked = s->is_unbound = false;
	s->watched = s->lent = 0;
	err = forked_close(fd);
	if (!err)
		err = eth_rings_map(fd, owner, sizes, &s->rings);
	if (err)
		return err;
	s->shown = s->rings.tx.ours;
	/* older kernels take 32 at a time */
	(void)setsockopt(fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof(budget));
	return 0;
}

static int take_inbox(struct eth_dev *d, int fd)
{
	int err = forked_close(fd);

	return err ? err : eth_inbox_open(fd, d->granted.inbox_bytes, &d->inbox);
}

static void close_inbox(struct eth_dev *d)
{
	if (d->inbox.fd < 0)
		return;
	forked_keep(d->inbox.fd);
	eth_inbox_close(&d->inbox);
}

static void close_sockets(struct eth_dev *d)
{
	close_inbox(d);
	for (uint32_t i = 0; i < ETH_RAILS; i++) {
		struct eth_socket *s = &d->sockets[i];

		eth_rings_unmap(&s->rings);
		if (s->fd >= 0) {
			forked_keep(s->fd);
			close(s->fd);
		}
		s->fd = -1;
	}
}

/*
 * Maps and keeps all that a grant consists of; the sockets become ours, other descriptors are
 * closed.
 */
static int take(struct eth_dev *d, struct arrival *a)
{
	unsigned int first, owners, board;
	int err;

	d->granted = a->granted;
	d->n_sockets = eth_is_port(d) ? 1 : d->granted.n_rails;
	/* of a port the socket itself is the owner of all its rings */
	owners = a->n_fds - d->n_sockets;
	first = eth_is_port(d) ? owners : owners - d->n_sockets;
	board = first - 1 - eth_has_inbox(d);
	err = eth_memory_map(d, a->fds[0]);
	if (!err)
		err = map_board(d, a->fds[board]);
	/* alone in it, nobody else looks into our rings */
	if (!err && d->granted.n_slots > 1)
		err = map_share(d, a->fds[1]);
	if (!err && eth_has_inbox(d)) {
		err = take_inbox(d, a->fds[board + 1]);
		if (!err)
			a->fds[board + 1] = -1;
	}
	for (uint32_t i = 0; !err && i < d->n_sockets; i++) {
		err = take_socket(d, i, a->fds[first + i], a->fds[owners + i]);
		a->fds[first + i] = -1;
	}
	while (a->n_fds)
		if (a->fds[--a->n_fds] >= 0)
			close(a->fds[a->n_fds]);
	if (err == -ENOMEM)
		explain(d,
			"%llu MiB of packet memory can't be had; allow this process's group more "
			"(memory.max), or ask for less with channel.send_buffers",
			(unsigned long long)a->granted.memory_bytes >> 20);
	else if (err)
		explain(d, "what pm-ethernetd granted can't be used: %s", strerror(-err));
	if (err) {
		close_sockets(d);
		unmap_share(d);
	}
	return err == -EINVAL ? -EPROTO : err;
}

/* Has the sockets bound, now that they are mapped. */
static int confirm(struct eth_dev *d)
{
	struct eth_request request;
	struct arrival a;
	int err = fill_request(d, ETH_OP_MAPPED, &request);

	if (!err)
		err = ask(d, &request, &a);
	if (err)
		return err;
	close_arrival(&a);
	if (!a.granted.is_bound || a.granted.n_rails != d->granted.n_rails)
		return -EPROTO;
	for (uint32_t r = 0; r < d->granted.n_rails; r++)
		d->granted.rails[r].is_zero_copy = a.granted.rails[r].is_zero_copy;
	for (uint32_t i = 0; i < d->n_sockets; i++)
		d->sockets[i].is_zero_copy = a.granted.rails[i].is_zero_copy;
	return 0;
}

/* The daemon lives and said no to what it had granted. */
static bool is_void(int err)
{
	return err && err != -EPIPE && err != -EPROTO && err != -ETIMEDOUT;
}

/*
 * Until something that was granted is bound. Where anything will do, a port follows what was
 * refused.
 */
static int take_bound(struct eth_dev *d, struct eth_request *request)
{
	const struct eth_granted before = d->granted;
	int err = -ESTALE;

	for (int n = 0; n < GRANTS_MAX && err; n++) {
		struct arrival a;

		err = ask(d, request, &a);
		if (!err)
			err = take(d, &a);
		if (err)
			return err;
		err = confirm(d);
		if (!err)
			break;
		close_sockets(d);
		unmap_share(d);
		eth_memory_stale(d);
		d->granted = before;
		if (!is_void(err) || (err != -ESTALE && request->attach != ETH_ATTACH_AUTO))
			break;
		if (err != -ESTALE)
			request->attach = ETH_ATTACH_PORT;
	}
	return err;
}

static int attach_once(struct eth_dev *d)
{
	struct eth_request request;
	int err = fill_request(d, ETH_OP_ATTACH, &request);

	if (!err)
		err = connect_to(d);
	if (!err)
		err = take_bound(d, &request);
	if (err)
		hang_up(d);
	return err;
}

/*
 * A daemon that was killed leaves its socket, and is started anew soon: jobs that begin meanwhile
 * wait for that.
 */
static int attach(struct eth_dev *d)
{
	const struct timespec pause = {.tv_nsec = RESTART_LOOK_NS};
	uint64_t until_ns = clock_monotonic_ns() + RESTART_NS;
	int err;

	while ((err = attach_once(d)) == -ECONNREFUSED || err == -EPIPE) {
		if (clock_monotonic_ns() >= until_ns)
			return err == -ECONNREFUSED ? -ENODEV : err;
		nanosleep(&pause, NULL);
	}
	return err;
}

int eth_lease_open(struct eth_dev *d)
{
	return attach(d);
}

int eth_lease_suspend(struct eth_dev *d)
{
	struct eth_request request;
	struct arrival a;
	int err = fill_request(d, ETH_OP_SUSPEND, &request);

	close_sockets(d);
	unmap_share(d);
	eth_memory_stale(d);
	if (!err && d->lease >= 0)
		err = ask(d, &request, &a);
	if (err == -EPIPE) {
		/* the daemon ended: nobody to tell */
		hang_up(d);
		err = 0;
	}
	return err;
}

int eth_lease_resume(struct eth_dev *d)
{
	struct eth_request request;
	int err = fill_request(d, ETH_OP_RESUME, &request);

	if (!err)
		err = d->lease < 0 ? -EPIPE : take_bound(d, &request);
	if (err == -EPIPE) {
		hang_up(d);
		return attach(d);
	}
	return err;
}

void eth_lease_close(struct eth_dev *d)
{
	close_sockets(d);
	unmap_share(d);
	if (d->board)
		munmap((void *)d->board, sizeof(*d->board));
	d->board = NULL;
	eth_memory_unmap(d);
	hang_up(d);
}
