/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * private - the state of a stream link, shared by its files:
 *
 *   link.c      life and operations table
 *   owner.c     connections by which others read from here
 *   lend.c      pages in place of copies for them
 *   reader.c    connections by which this process reads
 *   requests.c  what is asked for by these
 *   watch.c     waiting for all connections
 */
#ifndef PM_UDP_STREAM_PRIVATE_H
#define PM_UDP_STREAM_PRIVATE_H

#include <sys/queue.h>

#include "pm-udp/addr.h"
#include "pm-udp/stream/bound.h"
#include "pm-udp/stream/lending.h"
#include "pm-udp/stream/stream.h"
#include "pm-udp/stream/wire.h"

#define PMT_READS 1024 /* open at once */
#define PMT_PARTS 64   /* requests under way by a connection */
#define PMT_OWNERS 256 /* connections of others */
/*
 * Those that have not shown yet that they belong to the job: so many and one for each rail of each
 * node, up to a limit.
 */
#define PMT_STRANGERS 16
#define PMT_STRANGERS_MOST 512
#define PMT_READERS 256 /* own connections */

/* A read that went beside one of others tells that so many next ones will. */
#define PMT_BOTH_WAYS 8

/*
 * An owner that computes sends nothing. After this time others that are read from need not wait for
 * it.
 */
#define PMT_SILENT_NS 5000000ull

enum pmt_kind { PMT_LISTENER, PMT_OWNED, PMT_READING };

/* The first member of everything that is watched. */
struct pmt_socket {
	enum pmt_kind kind;
	int fd;          /* -1: closed */
	bool wants_room; /* a sleeper is to be woken when it can be written to */
};

/* Waits for the reader to prove itself, then for requests. */
enum pmt_owned_state { PMT_GREET, PMT_PROVE, PMT_SERVE };

/* Pages of the program on their way into a connection. */
struct pmt_loan {
	bool is_open; /* the pipe */
	int pipe[2];
	size_t held; /* bytes in it: the next ones of the first request */
};

/* A connection by which a node reads from here. */
struct pmt_owned {
	struct pmt_socket socket;
	TAILQ_ENTRY(pmt_owned) link; /* of the list for its state, oldest first */
	enum pmt_owned_state state;
	uint64_t since_ns; /* accepted */
	uint32_t address;  /* of the reader's rail */
	bool is_serving;   /* in the list of those that have data to send */
	LIST_ENTRY(pmt_owned) serving;
	struct pmt_greeting greeting;
	uint64_t nonce;                      /* ours */
	uint8_t in[PMT_PARTS * PMT_REQUEST]; /* bytes of an unfinished message */
	size_t in_len;
	struct pmt_request queue[PMT_PARTS]; /* ring; the first one shrinks while it is sent */
	uint32_t head, count;
	struct pmt_loan loan;
};

struct pmt_peer;

/* A read of the program. */
struct pmt_read {
	TAILQ_ENTRY(pmt_read) link; /* of its peer, in the order of asking; over: not listed */
	struct pmt_peer *peer;
	uint32_t id;        /* index, and a generation above it */
	uint32_t next_free; /* index + 1 */
	bool is_open;
	int status; /* -EAGAIN: not over */
	uint64_t rkey, offset, len;
	uint64_t asked, arrived; /* bytes */
	struct pmt_terms terms;
	uint8_t *local;
};

/* A range under way. */
struct pmt_part {
	struct pmt_read *read;
	uint32_t gap; /* bytes that come before it */
	uint8_t *at;
	uint64_t left;
};

enum pmt_reading_state { PMT_CLOSED, PMT_CONNECT, PMT_ANSWERED, PMT_OPEN };

/* A connection by which this process reads from a node, over one rail. */
struct pmt_reading {
	struct pmt_socket socket;
	enum pmt_reading_state state;
	struct pmt_peer *peer;
	uint64_t retry_ns; /* it is not tried again before; 0 = at once */
	uint64_t retry_step_ns;
	struct pmt_greeting greeting;
	uint8_t in[PMT_ANSWER];
	size_t in_len;
	struct pmt_part *parts; /* ring of PMT_PARTS; NULL: closed */
	uint32_t head, count;
	uint64_t outstanding; /* bytes of them, gaps included */
	uint8_t *out; /* behind the parts: room for as many requests, which are sent together */
	size_t out_len;
	uint32_t idle;       /* looks in a row that brought nothing */
	uint64_t unjudged;   /* bytes that came since the last look at what was lost */
	bool is_judged;      /* there was one since several are read from */
	uint32_t disordered; /* packets that had come out of order then */
	uint64_t quiet_ns;   /* time from which on nothing has come, 0 = not taken yet */
};

/* A node that is read from. */
struct pmt_peer {
	uint32_t node;
	uint16_t port;
	uint32_t rails; /* bit per rail that leads there */
	uint32_t address[PM_RAILS_MAX];
	uint32_t n_open;           /* connections */
	LIST_ENTRY(pmt_peer) link; /* of all */
	bool is_busy;
	TAILQ_ENTRY(pmt_peer) busy; /* of those that are read from, the one asked last at the end */
	TAILQ_HEAD(, pmt_read) reads; /* not over */
	uint64_t outstanding;         /* bytes asked for, by all connections */
	/* when data came last, if others were read from too, or the first were asked for */
	uint64_t heard_ns;
	struct pmt_lending lending;
	/* so many next requests of the node count as those of one that is read from */
	uint32_t long_reads;
	struct pmt_reading reading[]; /* one for each rail here */
};

TAILQ_HEAD(pmt_owned_list, pmt_owned);

struct pmt_link {
	struct pm_link link;
	struct pm_device_env env;
	uint64_t host;
	struct pmu_iface rails[PM_RAILS_MAX];
	uint32_t n_rails;
	uint16_t port; /* of the listeners, 0 = there are none */
	int epoll_fd;
	struct pmt_socket listener[PM_RAILS_MAX];
	struct pmt_owned_list strangers, owned, closed; /* closed: to be freed after the round */
	uint32_t n_strangers, n_owned;
	uint32_t n_proving; /* strangers that have greeted and been answered */
	LIST_HEAD(, pmt_owned) serving;
	LIST_HEAD(, pmt_peer) peers;
	TAILQ_HEAD(, pmt_peer) busy;
	uint32_t n_busy;
	uint32_t n_unasked;        /* reads that are not wholly asked for */
	struct pmt_bound bound;    /* of what is asked for while several are read from */
	uint32_t n_readers;        /* own connections */
	uint32_t n_joining;        /* ... of which are not open yet */
	struct pmt_read *reads;    /* PMT_READS, made with the first one */
	uint32_t free_read;        /* index + 1 */
	uint32_t n_reads;          /* not over */
	uint64_t read_bytes;       /* length of them */
	uint8_t gaps[PMT_GAP_MAX]; /* bytes of gaps are received into it, and never read */
	uint64_t serve_bytes;      /* of requests of others, not sent yet */
	/*
	 * reads that still count as going beside those of others: PMT_BOTH_WAYS from such a one on
	 */
	uint32_t both_ways;
	struct pmt_loan spare; /* a pipe for the next loan */
	uint32_t n_pipes;
	bool lends_not;      /* this process gets no pipes, or its kernel does not want to */
	uint32_t n_exported; /* regions that others may read from */
	uint32_t looks;
	uint32_t quiet_looks; /* that brought nothing, in a row */
	bool is_quiet, is_woken;
	bool has_news;       /* a read has ended since the last attempt to sleep */
	uint32_t join_looks; /* since the last connection was begun */
	uint64_t moves;      /* rounds in which something was done */
	uint64_t moves_seen; /* ... that quiesce knew of */
	uint64_t moved_ns;   /* while quiet: when it last saw a new one */
	uint64_t deaf_until; /* nothing is accepted before; 0: as it comes */
	uint32_t n_strangers_max;
};

static inline struct pmt_link *pmt_of(struct pm_link *link)
{
	return (struct pmt_link *)link;
}

/* watch.c: sockets and the epoll set. pmt_unwatch also closes. */
int pmt_socket_make(uint32_t address, uint16_t port);
int pmt_watch(struct pmt_link *s, struct pmt_socket *socket, bool wants_room);
void pmt_unwatch(struct pmt_link *s, struct pmt_socket *socket);
/* It stays in the set, but wakes nobody until pmt_watch. */
int pmt_mute(struct pmt_link *s, struct pmt_socket *socket);

/* owner.c */
int pmt_listen(struct pmt_link *s);
void pmt_accept(struct pmt_link *s, const struct pmt_socket *listener);
/* Time has come to accept again. */
void pmt_hear(struct pmt_link *s);
/* Something has come by the connection, or it broke. */
void pmt_owned_input(struct pmt_link *s, struct pmt_owned *o);
/* Sends what the sockets take; true: something went. */
bool pmt_serve(struct pmt_link *s);
void pmt_owned_sweep(struct pmt_link *s);
bool pmt_is_read_by(struct pm_link *link, uint32_t node);
/* Ends the connections by which the node reads. */
void pmt_owned_forget(struct pmt_link *s, uint32_t node);
/* Ends all that have data to send. */
void pmt_owned_drop_stuck(struct pmt_link *s);
void pmt_owner_close(struct pmt_link *s);

/* lend.c */
/*
 * Sends of [at, at + len) what the connection takes, without a copy: bytes, or -errno. The rest may
 * be in the pipe already, so the next call must go on with the byte behind the last one that was
 * sent. -ENOTSUP: it can't be done, send a copy.
 */
ssize_t pmt_lend(struct pmt_link *s, struct pmt_loan *loan, int fd, void *at, size_t len);
/* Drops what is in the pipe. */
void pmt_lend_close(struct pmt_link *s, struct pmt_loan *loan);

/* requests.c */
/* Asks for what there is room for, of all reads. */
void pmt_ask(struct pmt_link *s);

/* reader.c */
/* Sends the owner something short: 0 or -EPIPE. */
int pmt_say(const struct pmt_reading *r, const void *bytes, size_t len);
/* The connection is no good: it is closed, and with it, if it was open, all of its peer. */
void pmt_reading_fail(struct pmt_link *s, struct pmt_reading *r);
int pmt_read(struct pm_link *link, struct pm_link_peer *peer, uint64_t rkey, uint64_t roffset,
	     void *local, uint64_t len, uint32_t *ret_op);
int pmt_read_done(struct pm_link *link, uint32_t op);
/* The connection can be written to, or something has come, or it broke. */
void pmt_reading_event(struct pmt_link *s, struct pmt_reading *r);
/* Takes what has come for all reads; true: something has. */
bool pmt_collect(struct pmt_link *s);
/* Ends all connections to the peer, and its reads with -ENETUNREACH. */
void pmt_peer_break(struct pmt_link *s, struct pmt_peer *peer);

#endif
