/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf - tunables of a context. Owns the parser of "key=value,key=value" text (from $PM_OPTIONS and
 * pmOptions.config). Knows no files.
 */
#ifndef PM_UTIL_CONF_H
#define PM_UTIL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_NAME_MAX 16
#define CONF_RAILS_MAX 8

/* Enums of choices have the words of configs/options.def, in its order. */

/* How shmem moves large data. */
enum conf_large { CONF_LARGE_AUTO, CONF_LARGE_RING, CONF_LARGE_CMA };

/* How ethernet is attached to the network cards. */
enum conf_attach { CONF_ATTACH_AUTO, CONF_ATTACH_DIRECT, CONF_ATTACH_PORT };

/*
 * Whether long data of ethernet goes by datagrams: where they are measured to be cheaper, never,
 * wherever it can.
 */
enum conf_lane { CONF_LANE_AUTO, CONF_LANE_NEVER, CONF_LANE_ALWAYS };

/*
 * Whether long reads of network devices may go by TCP streams: where they are measured to be
 * faster, never, always.
 */
enum conf_stream { CONF_STREAM_AUTO, CONF_STREAM_NEVER, CONF_STREAM_ALWAYS };

/* How verbs reaches its peers. */
enum conf_path { CONF_PATH_AUTO, CONF_PATH_CONNECTED, CONF_PATH_DATAGRAM };

/* Keys, ranges and defaults are in configs/options.def. */
struct conf {
	char devices[8][CONF_NAME_MAX]; /* names in order of preference */
	unsigned int n_devices;
	bool has_devices; /* the list was given, it is not the default */
	/* SEED:drop=1%:dup=1%..., script of the fault interposer (see device/fault.c), "" = none */
	char fault[128];
	char trace[256]; /* file that records packets of the network device, "" = none */

	/* interfaces or subnets, as eth1 or 10.0.1.0/24; none = all usable ones */
	char udp_rails[CONF_RAILS_MAX][48];
	unsigned int n_udp_rails;
	uint32_t udp_mtu;  /* IP MTU to assume in bytes, 0 = the interface's */
	bool udp_gso;      /* segmentation offload when the kernel has it */
	uint32_t udp_port; /* first port to try, 0 = any */
	/*
	 * no option: it is the lane of ethernet, which takes named rails as far as they have an
	 * address, and reaches hosts in their subnets only
	 */
	bool udp_is_lane;

	enum conf_stream stream;

	char ethernet_socket[108]; /* of pm-ethernetd */
	enum conf_attach ethernet_attach;
	enum conf_lane ethernet_lane;
	/* interfaces of pm-ethernetd; none = all of them */
	char ethernet_rails[CONF_RAILS_MAX][48];
	unsigned int n_ethernet_rails;

	/* RDMA ports, with port 1 where none is said; none = all active ones */
	char verbs_devices[CONF_RAILS_MAX][48];
	unsigned int n_verbs_devices;
	uint32_t verbs_gid;    /* entry of the ports' tables of addresses, UINT32_MAX = the best */
	uint32_t verbs_mtu;    /* bytes of a message buffer */
	uint32_t verbs_credit; /* messages that a peer may send unread */
	/* ms of job time that a node whose connection broke without a word may take to come back */
	uint32_t verbs_lost_ms;
	uint32_t verbs_connections; /* most queue pairs; 0 = the link chooses */
	uint32_t verbs_shared; /* most receives that a rail's connections share; 0 = none shared */
	/* bytes of the program's memory registered at once; 0 = the link chooses */
	uint64_t verbs_pinned;
	enum conf_path verbs_path;
	uint32_t verbs_connected_max; /* auto is datagram in jobs of more processes */

	uint32_t shmem_ring; /* bytes of a pair's message ring */
	uint32_t shmem_mtu;  /* largest datagram in bytes */
	enum conf_large shmem_large;
	char shmem_dir[128]; /* on tmpfs */

	uint32_t window;       /* packets in flight per peer */
	uint32_t credit;       /* messages a new peer may send unasked, at most the window */
	bool is_credit_chosen; /* by somebody: else it falls with the size of the job */
	bool crc;              /* CRC32C over each packet */
	uint32_t send_buffers; /* packets of the transmit pool */
	uint32_t pull_bytes;   /* most bytes granted to all senders that are heard */
	/* silence in ms of job time until a peer counts as dead, 0 = never */
	uint32_t peer_timeout_ms;
	uint32_t spin_us; /* microseconds pmWait spins before it sleeps */
};

/* Fills the defaults. */
void conf_defaults(struct conf *conf);
/*
 * Lays @text over *@conf. Returns 0, or -EINVAL with a sentence (key, value, what is allowed) in
 * @why; *@conf is unchanged then.
 */
int conf_parse(struct conf *conf, const char *text, char *why, size_t why_size);

/*
 * The initial credit in a job of @nodes (0 = unknown). All may send theirs to one node at once, and
 * nobody has told them yet to wait: in large jobs, where no credit was chosen, each has less, so
 * that all together stay near 8192.
 */
uint32_t conf_credit(const struct conf *conf, uint32_t nodes);

/*
 * Packets in flight to a peer over @n_links network ports, when channel.window is @window. More
 * than several ports take at once waits in the queues of cards and switches, and delays what is
 * lost. So there it is no more than 512, unless somebody has set more than twice of that.
 */
static inline uint32_t conf_window(uint32_t window, uint32_t n_links)
{
	const uint32_t most = 512;

	return n_links > 1 && window > most && window <= 2 * most ? most : window;
}

#endif
