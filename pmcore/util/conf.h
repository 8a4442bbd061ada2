/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf - tunables of a context. Owns the list of option keys, their ranges and defaults, and the
 * parser of "key=value,key=value" text (from $PM_OPTIONS and pmOptions.config). Knows no files.
 */
#ifndef PM_UTIL_CONF_H
#define PM_UTIL_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_NAME_MAX 16
#define CONF_RAILS_MAX 8

/* How shmem moves large data. */
enum conf_large { CONF_LARGE_AUTO, CONF_LARGE_RING, CONF_LARGE_CMA };

/* How ethernet is attached to the network cards. */
enum conf_attach { CONF_ATTACH_AUTO, CONF_ATTACH_DIRECT, CONF_ATTACH_PORT };

/* Whether long data of ethernet goes by datagrams: where they are measured to be cheaper, never, wherever it can. */
enum conf_lane { CONF_LANE_AUTO, CONF_LANE_NEVER, CONF_LANE_ALWAYS };

/* Whether long reads of network devices may go by TCP streams: where they are measured to be faster, never, always. */
enum conf_stream { CONF_STREAM_AUTO, CONF_STREAM_NEVER, CONF_STREAM_ALWAYS };

/* How verbs reaches its peers. */
enum conf_path { CONF_PATH_AUTO, CONF_PATH_CONNECTED, CONF_PATH_DATAGRAM };

struct conf {
	/* devices=self+shmem+verbs+ethernet+udp: names in order of preference; "+" separated */
	char devices[8][CONF_NAME_MAX];
	unsigned int n_devices;
	bool has_devices; /* the list was given, it is not the default */
	/* fault=SEED:drop=1%:dup=1%...: script of the fault interposer, "" = none (see device/fault.c) */
	char fault[128];
	/* trace=PATH: record packets of the network device to a file, "" = none */
	char trace[256];

	/* udp.rails=eth1+eth2 or 10.0.1.0/24+...: interfaces or subnets; "" = all usable ones */
	char udp_rails[CONF_RAILS_MAX][48];
	unsigned int n_udp_rails;
	uint32_t udp_mtu;  /* udp.mtu: IP MTU to assume in bytes, 0 = the interface's; 576..65535 */
	bool udp_gso;      /* udp.gso=1|0: segmentation offload when the kernel has it */
	uint32_t udp_port; /* udp.port: first port to try, 0 = any */
	bool udp_is_lane; /* no option: it is the lane of ethernet, which takes named rails as far as they have an address, and
				reaches hosts in their subnets only */

	enum conf_stream stream; /* stream=auto|never|always */

	char ethernet_socket[108];        /* ethernet.socket: of pm-ethernetd, default
				      /run/pm-ethernet/socket */
	enum conf_attach ethernet_attach; /* ethernet.attach=auto|direct|port */
	enum conf_lane ethernet_lane;     /* ethernet.lane=auto|never|always */
	/* ethernet.rails=eth1+eth2: interfaces of pm-ethernetd; "" = all of them */
	char ethernet_rails[CONF_RAILS_MAX][48];
	unsigned int n_ethernet_rails;

	/* verbs.devices=mlx5_0:1+mlx5_1: RDMA ports, with port 1 where none is said; "" = all active ones */
	char verbs_devices[CONF_RAILS_MAX][48];
	unsigned int n_verbs_devices;
	uint32_t verbs_gid; /* verbs.gid: entry of the ports' tables of addresses, UINT32_MAX = the best */
	uint32_t verbs_mtu;    /* verbs.mtu: bytes of a message buffer, power of two, 1024..65536 */
	uint32_t verbs_credit; /* verbs.credit: messages that a peer may send unread, 8..256 */
	/* verbs.lost_timeout: ms of job time that a node whose connection broke without a word may take to come back */
	uint32_t verbs_lost_ms;
	/* verbs.connections: most queue pairs, 1..65536; 0 = the link chooses */
	uint32_t verbs_connections;
	uint32_t verbs_shared; /* verbs.shared: most receives that a rail's connections share, 16..32768; 0 = none shared */
	/* verbs.pinned: bytes of the program's memory registered at once, 1 MiB..1 TiB; 0 = the link chooses */
	uint64_t verbs_pinned;
	enum conf_path verbs_path; /* verbs.path=auto|connected|datagram */
	uint32_t verbs_connected_max; /* verbs.connected_max: auto is datagram in jobs of more processes */

	uint32_t shmem_ring; /* shmem.ring: bytes of a pair's message ring, power of two, 16 KiB..16 MiB */
	uint32_t shmem_mtu;          /* shmem.mtu: largest datagram in bytes, 1024..65536 */
	enum conf_large shmem_large; /* shmem.large=auto|ring|cma */
	char shmem_dir[128];         /* shmem.dir: directory on tmpfs, default /dev/shm */

	uint32_t window; /* channel.window: packets in flight per peer, power of two, 8..4096 */
	uint32_t credit; /* channel.credit: messages a new peer may send unasked, 1..window */
	bool is_credit_chosen; /* by somebody: else it falls with the size of the job */
	bool crc;              /* channel.crc=1|0: CRC32C over each packet */
	uint32_t send_buffers; /* channel.send_buffers: packets of the transmit pool, 64..65536 */
	uint32_t pull_bytes; /* channel.pull_bytes: most bytes granted to all senders that are heard, >= 64 KiB */
	uint32_t peer_timeout_ms; /* channel.peer_timeout: silence in ms of job time until a peer counts
				     as dead, 0 = never */
	uint32_t spin_us;         /* wait.spin: microseconds pmWait spins before it sleeps */
};

/* Fills the defaults. */
void conf_defaults(struct conf *conf);
/*
 * Lays @text over *@conf. Returns 0, or -EINVAL with a sentence (key, value, what is allowed) in
 * @why; *@conf is unchanged then.
 */
int conf_parse(struct conf *conf, const char *text, char *why, size_t why_size);

/*
 * The initial credit in a job of @nodes (0 = unknown). All may send theirs to one node at once, and nobody has told them
 * yet to wait: in large jobs, where no credit was chosen, each has less, so that all together stay near 8192.
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
