/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats - counters of a context in a file that pmstat maps while the program runs. Owns the layout,
 * the creation, the sweep of leftovers, and the names of counters and drop reasons. One writer (the
 * context's thread), any number of readers; a counter is a plain aligned 64-bit store.
 */
#ifndef PM_UTIL_STATS_H
#define PM_UTIL_STATS_H

#include <stdint.h>

#define STATS_MAGIC 0x364154534d504f53ull /* "SOPMSTA6" */
#define STATS_RAILS 16                    /* of all links of a context together */
#define STATS_LINKS 8
#define STATS_CONTEXTS 256 /* of a process that have a file */
/* where the host's /dev/shm is, in a job with a /dev/shm and a pid namespace of its own */
#define STATS_VARIABLE "PM_STATS"

/*
 * Why a packet was dropped, and the name of the reason in pmstat. Numbers are wire-stable: shared
 * with BPF programs and pmstat.
 */
#define DROP_LIST(X)                                                                               \
	X(TRUNCATED, "truncated")       /* shorter than its header or than it says */              \
	X(VERSION, "version")           /* other wire version */                                   \
	X(TYPE, "type")                 /* unknown packet type */                                  \
	X(KEY, "key")                   /* other job key */                                        \
	X(CRC, "crc")                   /* CRC32C does not match */                                \
	X(DESTINATION, "destination")   /* for another node */                                     \
	X(UNKNOWN_PEER, "unknown-peer") /* from a node that can't be resolved */                   \
	X(DUPLICATE, "duplicate")       /* sequence number already received */                     \
	X(WINDOW, "window")             /* sequence number outside the window */                   \
	X(NO_BUFFER, "no-buffer")       /* no receive buffer */                                    \
	X(MALFORMED, "malformed")       /* contents do not decode */                               \
	X(RAIL, "rail")                 /* rail number out of range */                             \
	X(DEAD_PEER, "dead-peer")       /* from a peer declared dead */                            \
	X(STALE, "stale")               /* answers an operation that is no more */                 \
	X(FAULT, "fault")               /* dropped on purpose by the fault interposer */

enum drop_reason {
	DROP_NONE = 0,
#define DROP_NUMBER(name, text) DROP_##name,
	DROP_LIST(DROP_NUMBER)
#undef DROP_NUMBER
		DROP_REASONS
};

/* Counters of one rail of a packet device. */
struct stats_rail {
	uint64_t tx_packets, tx_bytes; /* handed to the device, headers included */
	uint64_t rx_packets, rx_bytes; /* taken from the device, headers included */
	uint64_t retransmits;          /* packets sent again on this rail */
	uint64_t losses;               /* gaps seen in the rail's sequence numbers, packets */
	uint64_t deaths, returns;      /* times the rail left and joined the stripe */
	uint64_t full;                 /* times the rail took no more */
	uint64_t drops[DROP_REASONS];
	char name[16]; /* interface name or address */
};

/* Counters of one link (self, shmem, the channel) of the composite. */
struct stats_link {
	char name[16];
	uint64_t tx_messages, tx_bytes, rx_messages, rx_bytes; /* datagrams of the user */
	uint64_t read_bytes, write_bytes;                      /* one-sided, as initiator */
	uint64_t no_buffer;                                    /* ENOBUFS given to the user */
	uint64_t acks_tx, acks_rx;                             /* bare acks */
	uint64_t timeouts;                                     /* retransmission timer fired */
	uint64_t peers, peers_dead;
	uint64_t wakes; /* sleeping peers woken */
	/*
	 * RDMA: one-sided operations whose memory was registered already, or was not, and what went
	 * for others
	 */
	uint64_t pinned_hits, pinned_misses, pinned_evictions;
	/* RDMA: connections closed so that others have room, and those made again after that */
	uint64_t connections_closed, connections_reopened;
	/*
	 * ... receives that its connections share, and those of them that are lost until they are
	 * made anew
	 */
	uint64_t shared_posted, shared_missing;
	uint64_t forged; /* ... messages and greetings that came without the job's key */
	uint32_t first_rail,
		n_rails; /* its rails in the page; a link without a packet device has none */
};

struct stats_page {
	uint64_t magic;
	uint32_t size; /* of this struct, bytes */
	uint32_t pid;  /* of the context's process */
	uint32_t node; /* pmNode of the context */
	uint32_t n_links;
	uint32_t n_rails;
	uint32_t uid;
	char program[32];
	uint64_t looks; /* of the program for what came when nothing had: who waits makes many */
	struct stats_link links[STATS_LINKS];
	struct stats_rail rails[STATS_RAILS];
};

struct stats; /* the mapped file and its lock */

/*
 * Creates the file of a context below /dev/shm, after sweeping those whose process is gone. Falls
 * back to private memory when no file can be made (a full or absent /dev/shm must not stop a job),
 * so it fails only with -ENOMEM.
 */
int stats_create(uint32_t node, struct stats **ret_stats);
/* In private memory, which nobody else sees. -ENOMEM. */
int stats_create_private(uint32_t node, struct stats **ret_stats);
struct stats_page *stats_page(struct stats *stats);
void stats_destroy(struct stats *stats);

const char *stats_drop_name(enum drop_reason reason);

/*
 * Reads the page of one live context: the @number-th, from 0, of the process of user @uid that has
 * number @pid in the pid namespace @ns (pidns.h). 0: it has no $PM_STATS, @pid is as we see it.
 * Looks at that file alone. 0, -ENOENT: there is no such file, or another -errno: it is somebody
 * else's, or nobody writes it any more.
 */
int stats_read(uint32_t uid, uint64_t ns, uint32_t pid, unsigned int number,
	       struct stats_page *ret_page);

/*
 * Calls @fn for each live context of process @pid, 0 = of all of the host, that the caller may
 * read. The page is there during the call only. It tells the number by which the caller knows the
 * process. Looks at all names in the directory, which anybody may fill. Returns the number visited
 * or -errno.
 */
int stats_visit(uint32_t pid, int (*fn)(void *arg, const struct stats_page *page), void *arg);

#endif
