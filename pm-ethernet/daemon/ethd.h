/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethd - the state of pm-ethernetd, all of it in one struct that main owns, and the functions its
 * parts offer each other. One thread, one loop (loop.c). Nothing here blocks longer than a bind or
 * a close of an AF_XDP socket does, and closes of bound ones are left to threads (closer.c) as long
 * as there are not too many. Functions return 0 (or a count) or -errno; a sentence for a person
 * goes to the @why of the caller, or to ethd_say.
 */
#ifndef PM_ETHERNET_DAEMON_ETHD_H
#define PM_ETHERNET_DAEMON_ETHD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pm-ethernet/attach.h"
#include "pm-ethernet/board.h"
#include "pm-ethernet/daemon/names.h"
#include "pm-ethernet/grid.h"
#include "pm-ethernet/share.h"

#define ETHD_RETRY_NS 5000000ull      /* between two tries to bind a queue that is busy */
#define ETHD_BUSY_NS 100000000ull     /* how long a queue may stay busy after its holder's end */
#define ETHD_CLOSING_NS 2000000000ull /* the same while sockets are being closed */
#define ETHD_FILES 65536u             /* descriptors that are enough for all */
#define ETHD_CLIENTS_MAX 2048u        /* open connections */
#define ETHD_UID_CONTEXTS 256u        /* contexts, and connections, of one user */
/* fewer descriptors than ETHD_FILES: one user's contexts are this part of them */
#define ETHD_UID_PART 32u
#define ETHD_UID_REPORTS 8u           /* reports that a user has asked for and not read */
#define ETHD_READING_NS 1000000000ull /* a client whose report goes on within it reads it */
#define ETHD_JOB_BYTES (256u << 20)   /* packet memory of one job */
#define ETHD_UID_BYTES (2ull << 30)   /* packet memory of one user but root, and a quarter of all */
#define ETHD_PORTS_BATCH 4 /* ports made at once: at tc the kernel takes 13 ms for each */

/*
 * Where the programs stand: at XDP in the driver, at XDP behind it, or at the ingress hook of tc.
 */
enum ethd_mode { ETHD_MODE_AUTO, ETHD_MODE_NATIVE, ETHD_MODE_GENERIC, ETHD_MODE_TC };
enum ethd_direct { ETHD_DIRECT_ANY, ETHD_DIRECT_ROOT, ETHD_DIRECT_NEVER };
enum ethd_copy { ETHD_COPY_UNKNOWN, ETHD_COPY_COPY, ETHD_COPY_ZERO };

/* Exit codes, see pm-ethernetd(8). */
enum ethd_exit {
	ETHD_EXIT_OK = 0,
	ETHD_EXIT_FAILED = 1,  /* something of the system failed while running */
	ETHD_EXIT_USAGE = 2,   /* wrong options */
	ETHD_EXIT_NIC = 3,     /* a NIC is missing or can't be programmed */
	ETHD_EXIT_KERNEL = 4,  /* no privilege, or the kernel lacks what we need */
	ETHD_EXIT_RUNNING = 5, /* another daemon serves this host */
};

/* The options of the command line, and the grid of the file that --config names. */
struct ethd_options {
	char nics[ETH_RAILS][ETH_NAME];
	uint32_t n_nics;
	char run[96]; /* directory, without a slash at the end */
	uint32_t host_id;
	bool has_host_id;
	uint16_t type; /* EtherType, host byte order */
	enum ethd_mode mode;
	enum ethd_direct direct;
	uint32_t watch_ns; /* between two ETH_WATCH of a rail, 0 = none are sent */
	/* packet memory of one user but root; 0 = ETHD_UID_BYTES and a quarter of all */
	uint64_t user_bytes;
	struct eth_grid grid;     /* n_dims 0: none */
	uint32_t grid_host_id;    /* ours in the grid */
	struct eth_point *points; /* grid.n_points, ours; NULL without a grid */
	struct ethd_names names;  /* of these, ours */
};

/* One NIC, by host rail. */
struct ethd_rail {
	char name[ETH_NAME];
	char driver[32];  /* "" = unknown */
	uint32_t ifindex; /* 0: the interface is gone */
	uint8_t mac[ETH_MAC];
	uint32_t mtu;        /* now, but never more than at our start */
	uint32_t mtu_max;    /* at our start; of one that was missing the largest of the others */
	uint32_t speed_mbit; /* 0 = unknown */
	bool is_up;          /* up, with carrier */
	bool is_programmed;  /* eth_nic is attached */
	enum ethd_copy copy; /* what the driver accepted at the last direct attachment */
};

/* Descriptors of the pinned maps; names as in bpf/maps.h. */
struct ethd_maps {
	int host, nics, contexts, sockets, doors, inboxes, ports, rails, grants, counters;
	int grid, points, neighbours, pulses;
};

/* A veth pair: switch end peps<N>, user end pepu<N>; N is its place in ethd.ports. */
struct ethd_port {
	uint32_t switch_ifindex, user_ifindex; /* 0: not made */
	uint16_t context;                      /* who has it, 0 = free */
	uint64_t free_since_ns; /* monotonic; a fresh holder finds an old one least busy */
	uint64_t busy_until_ns; /* not to be taken before; its queue was found bound */
};

/*
 * All that was handed out with one grant, of a port or to a direct job: its user is charged for it
 * until nobody holds it any more. Owned by charges.c; context or job point to it until they let go
 * of it.
 */
struct ethd_charge {
	struct ethd_charge *next;
	uint64_t id; /* of its files in the set ethd.held */
	uid_t uid;
	/* all of it: packet memory, rings, inboxes, what the kernel keeps beside them */
	uint64_t bytes;
	uint64_t own_bytes; /* of them those that our control group has: headroom.h */
	int memory, share;  /* memory.h, -1 = none */
	int port;           /* rests until no socket is left, place in ethd.ports, -1 = none */
	uint32_t n_closing; /* batches of closer.c that hold some of its files */
	uint32_t n_held;    /* files that somebody else held at the last look */
	bool is_ended;      /* the lease is over */
	bool is_freed_late; /* by the kernel: pinned pages, rings of BPF */
	bool is_unknown;    /* what is held can't be told */
	uint64_t free_ns;   /* when its bytes are free; 0 = not before another look */
};

/* The direct contexts of one job: their memory and the sockets everything else is bound to. */
struct ethd_job {
	struct ethd_job *next;
	uint64_t key;
	uid_t uid;
	bool is_adopted; /* of an earlier daemon: no memory here, takes no more contexts */
	bool is_zero_copy;
	bool is_void; /* could not be bound: nobody joins it, and who did asks anew */
	uint32_t n_rails;
	uint8_t rails[ETH_RAILS]; /* host rails, in the order of its first process */
	int base[ETH_RAILS];      /* AF_XDP sockets that own fill and completion rings, -1 = none */
	uint32_t n_bound;         /* base[0..n_bound) are bound */
	struct ethd_charge *charge; /* with memory and share; NULL: adopted */
	uint32_t n_slots,
		next_slot;   /* slots are handed out once: an old one may have frames under way */
	uint32_t n_contexts; /* contexts that use it */
	bool is_registered;  /* the kernel has its memory */
	struct eth_granted layout; /* sizes of memory and rings */
};

struct ethd_client;

/* A context number that is in use; key 0 = free. */
struct ethd_context {
	uint64_t key;
	uint64_t start_time; /* of the process, /proc/PID/stat field 22; tells a reused pid */
	struct ethd_client *client; /* whose connection is the lease; NULL: adopted */
	struct ethd_job *job;       /* direct only */
	struct ethd_charge *charge; /* of a direct one its job's; NULL: adopted, or suspended */
	uint32_t attachment;        /* enum eth_attachment; ETH_DETACHED = suspended */
	uint32_t slot;
	uid_t uid;
	pid_t pid;       /* 0: in a pid namespace we can't see */
	int pidfd;       /* -1 = none */
	bool is_new;     /* was never bound */
	bool is_pending; /* waits until the process has mapped its sockets */
	uint32_t n_sockets;
	int sockets[ETH_RAILS]; /* kept, so that the process's own are not the last: closer.h */
	int inbox;              /* kept as well; -1 = none */
	int port;               /* place in ethd.ports, -1 = none */
	/* its part of what its user is charged for, which the state file tells */
	uint64_t memory_bytes;
	uint32_t n_rails;
	uint8_t rails[ETH_RAILS]; /* host rails */
};

struct ethd_closing;  /* closer.c */
struct ethd_discover; /* discover.c */
struct ethd_grid;     /* grid.h */

struct ethd {
	struct ethd_options options;
	uint32_t host; /* our id */
	uint32_t n_rails;
	struct ethd_rail rails[ETH_RAILS];
	enum ethd_mode mode; /* of all programs of this host; AUTO: not chosen yet */
	bool is_copy_only;   /* a NIC's driver refused zero copy, so no job tries it again */
	bool is_resumed;     /* maps, programs and board are those of the daemon before us */
	bool is_frags;       /* programs and sockets take frames of several buffers */
	/* the kernel lets nobody map bound rings: a job gets the queues for one process */
	bool is_one_slot;
	uint32_t chunk_bytes; /* 2048 or 4096 */
	uint32_t chunks_per_packet;

	struct eth_board *board; /* shared with all contexts; we alone write */
	int board_fd;            /* read-only, to hand out */
	/* sentence: another host has our id; "" = none. Set by discovery */
	char duplicate[ETH_WHY];

	struct ethd_maps maps;
	int port_program,
		door_program; /* for the switch end and the user end of ports; -1 = none */
	struct ethd_context contexts[ETH_CONTEXTS];
	uint16_t last_context; /* numbers are handed out round robin */
	struct ethd_port ports[ETH_CONTEXTS];
	uint32_t n_ports; /* places used so far */
	struct ethd_job *jobs;
	struct ethd_client *clients;
	uint32_t n_clients;
	uint64_t last_piece;     /* of a report, that was sent */
	uint64_t n_unread;       /* connections that were closed for reports that nobody read */
	uint64_t unread_said_ns; /* when the log was told of one; 0 = never */
	struct ethd_closing *closing; /* sockets that threads close, owned by closer.c */
	uint32_t n_closing;           /* of them with a thread */
	struct ethd_charge *charges;  /* owned by charges.c, as the next three */
	uint64_t last_charge;
	uint64_t look_ns,
		look_wait_ns; /* when to see what is still held, and the time from then on */
	struct ethd_discover *discover; /* owned by discover.c */
	struct ethd_grid *grid;         /* owned by grid.c; NULL: there is no grid */

	uint32_t n_files,
		uid_contexts; /* descriptors we may have, contexts and connections of one user */
	int spare;            /* a descriptor to give up when there is none for a connection */
	int epoll, signals, listener, netlink, closer, held, lock, guard;
	bool is_stopping;
	bool is_leaving_all; /* stops, and lets everything go on for the next daemon */
};

/* "native" and the like. */
const char *ethd_mode_name(enum ethd_mode mode);
/* A line for the operator on standard error; with the place and the remedy where there is one. */
void ethd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* discover.c: who answers on which rail. */
int ethd_discover_open(struct ethd *d);
void ethd_discover_close(struct ethd *d);
/* The AF_PACKET socket of @rail is readable. */
void ethd_discover_input(struct ethd *d, uint32_t rail);
/* Sends what is due; returns the next deadline, UINT64_MAX = none. */
uint64_t ethd_discover_timer(struct ethd *d, uint64_t now_ns);
/* The socket of each rail, -1 = none now; returns how many places were written. */
int ethd_discover_fds(struct ethd *d, int fds[ETH_RAILS]);

/*
 * report.c: JSON text about the daemon, @topic of enum eth_topic, about what the topic may ask for;
 * the caller frees it. -errno; @why stays untouched where errno says it all.
 */
int ethd_report(struct ethd *d, uint32_t topic, const char *about, char **ret_json, char *why,
		size_t why_size);

#endif
