// SPDX-License-Identifier: BSD-3-Clause
/*
 * discover - see discover.h. One AF_PACKET socket per rail, which lets control frames through only.
 */
#include "pm-ethernet/daemon/discover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pm-ethernet/daemon/grid.h"
#include "pm-ethernet/query.h"
#include "pmcore/util/clock.h"

#define FRAMES_PER_INPUT 64     /* the loop has other work as well */
#define FRAME_ROOM 256          /* a longer control frame is read as far as it matters */
#define RECEIVE_BYTES (4 << 20) /* thousands of hosts answer one question at once */
#define MAC_FORMAT "%02x:%02x:%02x:%02x:%02x:%02x"
#define MAC_ARGS(m) (m)[0], (m)[1], (m)[2], (m)[3], (m)[4], (m)[5]

static const uint8_t everybody[ETH_MAC] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Packets of jobs never reach us, even while no XDP program takes them. */
static int filter_control(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(struct eth_frame, kind)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_PACKET, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, FRAME_ROOM),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

static int open_socket(uint32_t ifindex, uint16_t type)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET, .sll_protocol = type, .sll_ifindex = (int)ifindex};
	int room = RECEIVE_BYTES, fd, r;

	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = filter_control(fd);
	if (r == 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		r = -errno;
	if (r == 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)))
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static void close_probe(struct ethd_probe *probe)
{
	if (probe->fd >= 0)
		close(probe->fd);
	probe->fd = -1;
	probe->ifindex = 0;
}

static int open_probe(struct ethd *d, uint32_t rail)
{
	struct ethd_probe *probe = &d->discover->probes[rail];
	int fd = open_socket(d->rails[rail].ifindex, htons(d->options.type));

	if (fd < 0)
		return fd;
	probe->fd = fd;
	probe->ifindex = d->rails[rail].ifindex;
	return 0;
}

int ethd_discover_open(struct ethd *d)
{
	struct ethd_discover *discover = calloc(1, sizeof(*discover));
	uint32_t rail;
	int r;

	if (!discover)
		return -ENOMEM;
	d->discover = discover;
	for (rail = 0; rail < ETH_RAILS; rail++)
		discover->probes[rail].fd = -1;
	/* Without a name, or with too long a one, we are "?" or cut off: it is for people only. */
	gethostname(discover->host_name, sizeof(discover->host_name) - 1);
	if (getrandom(&discover->nonce, sizeof(discover->nonce), 0) < 0) {
		r = -errno;
		ethd_discover_close(d);
		return r;
	}
	for (rail = 0; rail < d->n_rails; rail++) {
		if (!d->rails[rail].ifindex)
			continue;
		r = open_probe(d, rail);
		if (r < 0) {
			ethd_discover_close(d);
			return r;
		}
	}
	return 0;
}

void ethd_discover_close(struct ethd *d)
{
	uint32_t rail;

	if (!d->discover)
		return;
	for (rail = 0; rail < ETH_RAILS; rail++)
		close_probe(&d->discover->probes[rail]);
	ethd_peers_clear(&d->discover->peers);
	free(d->discover);
	d->discover = NULL;
}

int ethd_discover_fds(struct ethd *d, int fds[ETH_RAILS])
{
	uint32_t rail;

	for (rail = 0; rail < d->n_rails; rail++)
		fds[rail] = d->discover ? d->discover->probes[rail].fd : -1;
	return (int)d->n_rails;
}

/* Sends @query, whose kind and addressees are set, from @rail. */
static void send_frame(struct ethd *d, uint32_t rail, struct eth_query *query, uint64_t *count)
{
	struct ethd_probe *probe = &d->discover->probes[rail];
	uint8_t frame[ETH_QUERY_BYTES];

	if (probe->fd < 0)
		return;
	memcpy(query->src_mac, d->rails[rail].mac, ETH_MAC);
	query->src_host = d->host;
	query->nonce = d->discover->nonce;
	query->mtu = d->rails[rail].mtu;
	query->rail = (uint8_t)rail;
	query->n_rails = (uint8_t)d->n_rails;
	memcpy(query->rail_name, d->rails[rail].name, sizeof(query->rail_name));
	memcpy(query->host_name, d->discover->host_name, sizeof(query->host_name));
	eth_query_put(frame, query, htons(d->options.type));
	/* A frame that does not leave is a lost frame: it is asked again. */
	if (send(probe->fd, frame, sizeof(frame), 0) == (ssize_t)sizeof(frame))
		(*count)++;
	else
		probe->send_failed++;
}

static void ask(struct ethd *d, uint32_t rail, const uint8_t mac[ETH_MAC], uint32_t host,
		uint64_t now_ns)
{
	struct ethd_probe *probe = &d->discover->probes[rail];
	struct eth_query query = {.kind = ETH_QUERY, .dst_host = host, .stamp = now_ns};

	memcpy(query.dst_mac, mac, ETH_MAC);
	if (probe->stamps[(probe->next_stamp - 1) % ETHD_STAMPS] != now_ns)
		probe->stamps[probe->next_stamp++ % ETHD_STAMPS] = now_ns;
	send_frame(d, rail, &query, &probe->asked);
}

static void answer(struct ethd *d, uint32_t rail, const struct eth_query *asked)
{
	struct eth_query query = {
		.kind = ETH_ANSWER, .dst_host = asked->src_host, .stamp = asked->stamp};

	memcpy(query.dst_mac, asked->src_mac, ETH_MAC);
	send_frame(d, rail, &query, &d->discover->probes[rail].answered);
}

static void note_on_board(struct ethd *d, struct ethd_peer *peer, uint32_t rail)
{
	const struct ethd_ear *ear = &peer->ears[rail];
	struct eth_heard heard = {.rail = ear->rail,
				  .is_alive = ear->is_alive,
				  .mtu = (uint16_t)ear->mtu,
				  .rtt_ns = ear->rtt_ns};

	memcpy(heard.mac, ear->mac, ETH_MAC);
	if (eth_board_note(d->board, peer->id, rail, &heard) < 0)
		d->discover->not_on_board++;
	ethd_grid_heard(d, peer, rail);
}

static void note_answer(struct ethd *d, uint32_t rail, const struct eth_query *query,
			uint64_t now_ns)
{
	const struct ethd_rail *own = &d->rails[rail];
	struct ethd_peer *peer = ethd_peers_find(&d->discover->peers, query->src_host);
	uint32_t old_mtu = peer ? peer->ears[rail].mtu : 0;

	/* The table being full, or no memory, is counted there; the host stays unknown. */
	if (ethd_peers_heard(&d->discover->peers, rail, query, now_ns, &peer) <= 0)
		return;
	note_on_board(d, peer, rail);
	if (query->mtu != old_mtu && query->mtu != own->mtu)
		ethd_say("%s: MTU %u here, but %u at host %u (%s, its %s): no job uses this rail "
			 "between the two until both are equal",
			 own->name, own->mtu, query->mtu, peer->id, query->host_name,
			 query->rail_name);
}

static void note_rival(struct ethd *d, uint32_t rail, const struct eth_query *query,
		       uint64_t now_ns)
{
	struct ethd_rival *rival = &d->discover->rival;

	if (rival->heard_ns == 0) {
		snprintf(d->duplicate, sizeof(d->duplicate),
			 "host id %u is also that of %s (MAC " MAC_FORMAT ", its %s), heard on %s; "
			 "start one of the two daemons with another --host-id",
			 d->host, query->host_name, MAC_ARGS(query->src_mac), query->rail_name,
			 d->rails[rail].name);
		ethd_say("%s; no context is given out meanwhile", d->duplicate);
		rival->ask_ns = now_ns + ETHD_RIVAL_ASK_NS;
		rival->rail = rail;
		memcpy(rival->mac, query->src_mac, ETH_MAC);
		atomic_store(&d->board->duplicate, 1);
	}
	rival->heard_ns = now_ns;
}

static bool is_own_stamp(const struct ethd_probe *probe, uint64_t stamp, uint64_t now_ns)
{
	uint32_t i;

	if (stamp == 0 || stamp > now_ns || now_ns - stamp > ETHD_ANSWER_NS)
		return false;
	for (i = 0; i < ETHD_STAMPS; i++)
		if (probe->stamps[i] == stamp)
			return true;
	return false;
}

/* Whether what we know of the host that asked is not what it says now. */
static bool is_news(const struct ethd *d, uint32_t rail, const struct eth_query *query)
{
	const struct ethd_peer *peer = ethd_peers_find(&d->discover->peers, query->src_host);
	const struct ethd_ear *ear;

	if (query->src_host == d->host || !peer)
		return true;
	ear = &peer->ears[rail];
	return !ear->is_alive || ear->mtu != query->mtu || peer->nonce != query->nonce ||
	       (ear->rail == query->rail && memcmp(ear->mac, query->src_mac, ETH_MAC));
}

static void take_query(struct ethd *d, uint32_t rail, const struct eth_query *query,
		       uint64_t now_ns)
{
	struct ethd_probe *probe = &d->discover->probes[rail];

	if (query->dst_host != d->host && query->dst_host != ETH_QUERY_ANYONE)
		return;
	probe->queries++;
	answer(d, rail, query);
	/* Being asked proves nothing; the answer to a question of our own does. */
	if (is_news(d, rail, query) && now_ns >= probe->back_ns) {
		probe->back_ns = now_ns + ETHD_ASK_BACK_NS;
		ask(d, rail, query->src_mac, query->src_host, now_ns);
	}
}

static void take_answer(struct ethd *d, uint32_t rail, const struct eth_query *query,
			uint64_t now_ns)
{
	struct ethd_probe *probe = &d->discover->probes[rail];

	if (query->dst_host != d->host)
		return;
	if (!is_own_stamp(probe, query->stamp, now_ns)) {
		probe->stale++;
		return;
	}
	probe->answers++;
	if (query->src_host == d->host)
		note_rival(d, rail, query, now_ns);
	else
		note_answer(d, rail, query, now_ns);
}

static void take_frame(struct ethd *d, uint32_t rail, const uint8_t *frame, size_t len)
{
	struct eth_query query;
	enum eth_drop drop = eth_query_decode(frame, len, htons(d->options.type), &query);

	if (drop) {
		d->discover->probes[rail].refused[drop]++;
		return;
	}
	/* Our own voice, back by a loop or from another rail of ours in the same segment. */
	if (query.src_host == d->host && query.nonce == d->discover->nonce)
		return;
	if (query.kind == ETH_QUERY)
		take_query(d, rail, &query, clock_monotonic_ns());
	else
		take_answer(d, rail, &query, clock_monotonic_ns());
}

void ethd_discover_input(struct ethd *d, uint32_t rail)
{
	uint8_t frame[FRAME_ROOM];
	struct sockaddr_ll from = {0};
	socklen_t from_len;
	ssize_t len;
	int i;

	if (!d->discover || rail >= d->n_rails)
		return;
	for (i = 0; i < FRAMES_PER_INPUT; i++) {
		from_len = sizeof(from);
		len = recvfrom(d->discover->probes[rail].fd, frame, sizeof(frame), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &from_len);
		/* An error here is the interface going down, which the rail's state tells. */
		if (len < 0)
			return;
		if (from.sll_pkttype == PACKET_HOST || from.sll_pkttype == PACKET_BROADCAST)
			take_frame(d, rail, frame, (size_t)len);
	}
}

struct moment {
	struct ethd *d;
	uint64_t now_ns;
};

static void hear_of(void *arg, struct ethd_peer *peer, uint32_t rail, enum ethd_peers_event event)
{
	const struct moment *moment = arg;

	if (event == ETHD_PEERS_ASK)
		ask(moment->d, rail, peer->ears[rail].mac, peer->id, moment->now_ns);
	else
		note_on_board(moment->d, peer, rail);
}

/* The socket and the rhythm follow what became of the rail. */
static void follow_rail(struct ethd *d, uint32_t rail, uint64_t now_ns)
{
	struct ethd_probe *probe = &d->discover->probes[rail];
	const struct ethd_rail *own = &d->rails[rail];
	int r;

	if (probe->ifindex != own->ifindex) {
		close_probe(probe);
		probe->is_up = false;
		r = own->ifindex ? open_probe(d, rail) : 0;
		if (r < 0)
			ethd_say("%s: can't listen for other hosts: %s", own->name, strerror(-r));
	}
	if (probe->is_up == own->is_up && probe->mtu == own->mtu)
		return;
	probe->is_up = own->is_up;
	probe->mtu = own->mtu;
	if (probe->is_up) {
		/* Others learn of a new MTU when we ask them: they ask back. */
		probe->n_fast = ETHD_ASK_FAST_COUNT;
		probe->ask_ns = now_ns;
	} else {
		ethd_peers_cut(&d->discover->peers, rail, hear_of, &(struct moment){d, now_ns});
	}
	ethd_grid_follow(d, rail);
}

/* Asks everybody on @rail when it is time; returns when it is next. */
static uint64_t ask_everybody(struct ethd *d, uint32_t rail, uint64_t now_ns)
{
	struct ethd_probe *probe = &d->discover->probes[rail];

	if (!probe->is_up)
		return UINT64_MAX;
	if (now_ns < probe->ask_ns)
		return probe->ask_ns;
	ask(d, rail, everybody, ETH_QUERY_ANYONE, now_ns);
	ethd_peers_asked(&d->discover->peers, rail, now_ns);
	if (probe->n_fast) {
		probe->n_fast--;
		probe->ask_ns = now_ns + ETHD_ASK_FAST_NS;
	} else {
		probe->ask_ns = now_ns + ETHD_ASK_SLOW_NS +
				(uint64_t)d->host * 2654435761u % ETHD_ASK_JITTER_NS;
	}
	return probe->ask_ns;
}

static uint64_t watch_rival(struct ethd *d, uint64_t now_ns)
{
	struct ethd_rival *rival = &d->discover->rival;

	if (rival->heard_ns == 0)
		return UINT64_MAX;
	if (now_ns - rival->heard_ns >= ETHD_RIVAL_FORGET_NS) {
		ethd_say("host id %u is ours alone again", d->host);
		memset(rival, 0, sizeof(*rival));
		d->duplicate[0] = '\0';
		atomic_store(&d->board->duplicate, 0);
		return UINT64_MAX;
	}
	if (now_ns >= rival->ask_ns) {
		ask(d, rival->rail, rival->mac, d->host, now_ns);
		rival->ask_ns = now_ns + ETHD_RIVAL_ASK_NS;
	}
	return rival->ask_ns;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t ethd_discover_timer(struct ethd *d, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	uint32_t rail;

	if (!d->discover)
		return UINT64_MAX;
	for (rail = 0; rail < d->n_rails; rail++) {
		follow_rail(d, rail, now_ns);
		next_ns = sooner(next_ns, ask_everybody(d, rail, now_ns));
	}
	next_ns = sooner(next_ns, watch_rival(d, now_ns));
	return sooner(next_ns, ethd_peers_timer(&d->discover->peers, now_ns, hear_of,
						&(struct moment){d, now_ns}));
}
