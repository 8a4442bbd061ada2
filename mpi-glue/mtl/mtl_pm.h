/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm - Open MPI's matching transport layer over PM.
 *
 * Owns the types and the one module object all files of this directory share. MPI semantics live in
 * mpi-glue/common (matching, wire formats), transport in libpm; this directory joins them to Open
 * MPI's pml/cm. One PM context per process, one lock around everything (taken only when the
 * program asked for threads); request callbacks run outside the lock.
 */
#ifndef MTL_PM_H
#define MTL_PM_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/mtl/base/base.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

#include "mpi-glue/common/envelope.h"
#include "mpi-glue/common/idle.h"
#include "mpi-glue/common/ids.h"
#include "mpi-glue/common/layout.h"
#include "mpi-glue/common/match.h"
#include "mpi-glue/common/table.h"
#include "mpi-glue/common/ways.h"
#include "mpi-glue/mtl/mtl_pm_compat.h"
#include "pm.h"

#include <pthread.h>
#include <sys/queue.h>
#include <sys/types.h>

struct mtl_pm_client;
struct mtl_pm_peer;
struct mtl_pm_request;

/* A message on its way out. */
struct mtl_pm_send {
	TAILQ_ENTRY(mtl_pm_send) link;   /* in the peer's sends or streams; see list */
	struct mtl_pm_peer *peer;        /* where it goes */
	struct opal_convertor_t *source; /* packs data that have no layout */
	const char *data;                /* data in one piece, NULL: they are packed */
	size_t length;                   /* bytes of the message */
	size_t sent;                     /* bytes handed to PM as FIRST, RTS, MORE or DATA */
	size_t head;                     /* announced: bytes that go before the receiver asks */
	size_t wanted;                   /* bytes the receiver asked for with PULL */
	uint64_t id;                     /* our number in messages of the peer; 0: none was given */
	uint64_t remote;                 /* the receiver's operation, from PULL */
	pmHandle handle;                 /* of data while is_exposed */
	uint32_t context;                /* context id */
	int32_t rank;                    /* ours in the communicator */
	int32_t tag;
	bool is_sync;      /* complete only after the match */
	bool is_in_burst;  /* ... of many bytes: it is to be announced, whatever its length */
	bool is_announced; /* RTS was handed over */
	bool is_answered;  /* FIN or PULL came before all of the head had gone */
	int answer;        /* ... FIN's error; PULL: wanted is not 0 */
	bool is_exposed;   /* handle must be given back */
	struct mtl_pm_sends *list; /* the peer's list it is in, NULL: none */
	bool has_layout;           /* without data: walk packs in place of source */
	struct layout_walk walk;
};

/* A receive, from its post to its completion. */
struct mtl_pm_receive {
	struct match_entry match;         /* while posted */
	TAILQ_ENTRY(mtl_pm_receive) link; /* in the peer's reads or waiting */
	struct mtl_pm_peer *peer;         /* sender of the matched message, once needed */
	struct opal_convertor_t *target;  /* unpacks what has no layout */
	char *data;                       /* memory in one piece, NULL: data are unpacked */
	size_t room;                      /* bytes it holds */
	size_t wanted;                    /* bytes to receive: the message, cut to the room */
	size_t got;                       /* bytes of it placed in order: head, parts, stream */
	uint64_t id;                      /* our number in DATA of the peer; 0: none was given */
	uint64_t remote;                  /* the sender's operation */
	pmHandle handle;                  /* of the sender's memory */
	pmDesc read;                      /* the running pmRead */
	size_t read_from;                 /* where in the message it begins */
	bool is_waiting;                  /* in the peer's waiting */
	bool has_head_due;                /* parts that were sent unasked are still to come */
	bool has_rest_due;                /* a read or a stream brings what is behind them */
	size_t way_size;                  /* of the message, if has_way */
	bool has_way;                     /* it is among those of the peer's ways */
	bool is_pulled;  /* it is a stream, which brings nothing if the head brought all */
	int error;       /* of a part, 0 or errno */
	bool has_layout; /* without data: walk unpacks in place of target */
	struct layout_walk walk;
};

/* A request. pml/cm reserves its room with each of its own; blocking sends have it on the stack. */
struct mtl_pm_request {
	struct mca_mtl_request_t super; /* first: pml/cm knows this part */
	STAILQ_ENTRY(mtl_pm_request)
	done;            /* in the module's done, between completion and callback */
	int error;       /* blocking sends: how it ended, 0 or errno */
	bool is_ended;   /* blocking sends: the call may return */
	bool is_long;    /* counted in the module's n_long */
	bool is_receive; /* which of the two below */
	union {
		struct mtl_pm_send send;
		struct mtl_pm_receive receive;
	};
};

/* A message that came before its receive. */
struct mtl_pm_message {
	struct match_entry match;       /* while unexpected */
	struct mtl_pm_message *next;    /* in the module's free list */
	struct mtl_pm_peer *peer;       /* sender */
	struct mtl_pm_request *claimed; /* receive that waits for the rest of it */
	size_t size;                    /* bytes of the message */
	size_t head;                    /* bytes of it that come unasked: all, or RTS's head */
	size_t got;                     /* bytes of these that have arrived */
	uint64_t remote;                /* the sender's operation for ACK, PULL, FIN; 0: none */
	pmHandle handle;                /* RTS: the sender's memory, all zero: pull */
	size_t charged;                 /* bytes counted in the module's unexpected_bytes */
	bool is_small;                  /* from the free list: MTL_PM_SMALL bytes of data */
	bool is_rts;                    /* what is behind the head must be fetched */
	char data[];                    /* the head */
};

/* A short message to a peer that PM had no buffer for. */
struct mtl_pm_note {
	STAILQ_ENTRY(mtl_pm_note) link; /* in the peer's notes, or the module's free list */
	uint32_t length;                /* bytes in use */
	union {
		struct envelope_control control;
		struct envelope_pull pull;
	};
};

TAILQ_HEAD(mtl_pm_sends, mtl_pm_send);
TAILQ_HEAD(mtl_pm_receives, mtl_pm_receive);
STAILQ_HEAD(mtl_pm_notes, mtl_pm_note);
STAILQ_HEAD(mtl_pm_requests, mtl_pm_request);

/* One process we have talked with. Lives until the module closes. */
struct mtl_pm_peer {
	pmNode node;
	size_t post_limit;    /* longest message that is better posted than filled in place */
	ssize_t eager_limit;  /* longest message sent in one datagram; -1 while we are choked */
	ssize_t middle_limit; /* longest message sent unasked in several; -1 while we are choked */
	ssize_t shared_limit; /* the same while other processes run on our core */
	ssize_t packed_limit; /* the same of data that are packed as they go */
	/* longest message sent unasked in a burst of many bytes; 0: as elsewhere */
	size_t burst_limit;
	size_t mtu;      /* bytes of a datagram */
	bool aligns;     /* send buffers start at a cache line, so data in them can be aligned */
	bool gathers;    /* messages to it may share packets */
	uint32_t unheld; /* so many of a burst shall leave at once */
	/*
	 * bursts, or parts of one between our polls, in a row in which the program seemed to work
	 */
	uint32_t n_late;
	uint64_t burst_bytes;   /* of bursts to it lately */
	uint32_t unread_bursts; /* that it had no stream for */
	/* so many messages of bursts go unasked, as it did not read those before */
	uint32_t unannounced;
	bool is_unread;              /* ... and it has read none since */
	struct mtl_pm_sends sends;   /* not handed over yet, in order; the first may be half done */
	struct mtl_pm_sends streams; /* being sent as DATA */
	struct mtl_pm_requests
		gathered;             /* of a burst, complete but that PM may hold their messages */
	struct mtl_pm_notes notes;    /* control messages not handed over yet */
	struct mtl_pm_receives reads; /* pmReads from it that run, oldest first */
	struct mtl_pm_receives waiting; /* ... that have no room yet, or for which too many run */
	size_t n_reads;                 /* that run */
	/* its messages of bursts in a row that were fetched while no other was; up to a bound */
	uint32_t n_alone;
	TAILQ_ENTRY(mtl_pm_peer) waiter; /* in the module's waiters while waiting is not empty */
	struct mtl_pm_message *open;     /* unexpected message that MORE continues */
	struct mtl_pm_request *filling;  /* receive that MORE continues */
	size_t filling_left;             /* bytes of its message, or head, still to come */
	TAILQ_ENTRY(mtl_pm_peer) busy;   /* in the module's busy peers; see is_busy */
	TAILQ_ENTRY(mtl_pm_peer) reader; /* in the module's readers while reads is not empty */
	TAILQ_ENTRY(mtl_pm_peer) choke;  /* in the module's choked peers; see is_choked */
	/* mtl_pm_watch: what we wait for from it, in one number; 0 between looks */
	uint64_t awaited;
	uint64_t awaited_before; /* the same at the last look; 0: nothing */
	uint64_t ask_ns;         /* not asked for before, while that stays the same */
	uint32_t asked;          /* times it was asked for since that was new */
	bool is_probed;    /* a probe of the program found nothing of it since the last look */
	size_t pull_limit; /* longer messages may be read by handle, shorter ones are streamed */
	struct ways *ways; /* by which messages come from it, measured; NULL: there is one way */
	struct ways *measured;  /* the same, kept while the device has but one; NULL: none yet */
	uint32_t asked_classes; /* bit per class: we asked it to announce its messages */
	uint32_t read_classes;  /* bit per class: it asked us */
	size_t head_limit;      /* bytes of a longer message that go with its announcement */
	uint32_t announced;     /* messages to it that were announced and are not over */
	bool stages;            /* what is unpacked is read in pieces, not pulled */
	bool is_busy;           /* has sends, streams, notes or gathered to retry */
	bool is_choked;         /* we told it to send RTS only */
	bool is_dead;           /* every operation with it fails */
	void *of_client; /* the module's client keeps here what it knows of it; NULL: nothing */
};

TAILQ_HEAD(mtl_pm_peers, mtl_pm_peer);

/* Datagrams that are taken together. Fewer give the sender its credit back earlier. */
#define MTL_PM_ROW 16

/*
 * News for the progress thread that only the program's own call may deal with. Nothing else arrives
 * until then.
 */
struct mtl_pm_kept {
	bool is_full;
	pmNode node;
	size_t n; /* datagrams that a stranger sent: its address must be looked up */
	struct iovec row[MTL_PM_ROW];
	bool is_dead;       /* the node was found dead, */
	char why[512];      /* ... so PM says */
	const char *failed; /* an operation failed, */
	pmNode failed_node; /* ... with this node, */
	int error;          /* ... by this */
};

/* Our data of a communicator, in c_pml_comm. */
struct mtl_pm_comm {
	struct match_context *matching;
	struct ompi_communicator_t *comm;
	TAILQ_ENTRY(mtl_pm_comm) link; /* in the module's comms */
};

TAILQ_HEAD(mtl_pm_comms, mtl_pm_comm);

/* Where a program is that takes no lock, as the progress thread sees it. */
enum mtl_pm_presence {
	MTL_PM_OUTSIDE,
	MTL_PM_INSIDE,
	MTL_PM_UNSEEN, /* outside since the thread's last look */
};

/* Why the program takes the lock. */
enum {
	MTL_PM_GATE_SHARED = 1, /* other threads may be in here */
	MTL_PM_GATE_TAKEN =
		2, /* the progress thread has come in, or tries, as the program is outside */
};

/* The module: first what pml/cm sees, then ours. */
struct mtl_pm {
	mca_mtl_base_module_t super;

	pmContext ctx; /* PM_CONTEXT_NONE before init and after finalize */
	/* enum mtl_pm_presence: the program's thread, if it takes no lock; atomic */
	uint32_t presence;
	uint32_t gate;   /* MTL_PM_GATE_*: not 0: the program takes the lock; atomic */
	bool has_lock;   /* it has taken it; by who has the lock, or is the only one */
	bool has_thread; /* the progress thread runs */
	bool moves_long; /* ... and serves long messages */
	/*
	 * Called when a peer was made that a network leads to, which may lose packets; NULL: nobody
	 * wants to know.
	 */
	void (*at_network)(void);
	/* the program's threads are scheduled as batch if they are more than its cores */
	bool has_batch;
	bool is_helping;      /* ... and has the lock: nothing may call Open MPI */
	bool is_used;         /* pml/cm was chosen: communicators were added */
	uint32_t users;       /* of the context: mtl/pm and btl/pm */
	bool tells_why;       /* btl/pm wants it: the user is told why there is none */
	bool has_parted;      /* from the other processes */
	pthread_mutex_t lock; /* covers everything below and ctx, if the gate is not 0 */

	const struct mtl_pm_client *client; /* NULL: btl/pm does not use the context */
	bool is_client_due; /* its progress() has something to do: blocking calls end their polls */
	bool has_client_work; /* its poll() has */
	bool serves_client;   /* others reach memory of ours: the progress thread may not park */
	struct match match;
	struct ids ids;              /* sends and receives that peers may name */
	struct table peers;          /* node -> struct mtl_pm_peer */
	struct mtl_pm_peers busy;    /* peers with something to retry */
	struct mtl_pm_peers choked;  /* peers that must be unchoked later */
	uint32_t n_fetches;          /* receives of announced messages that are not over */
	struct mtl_pm_peers readers; /* peers with reads */
	struct mtl_pm_peers waiters; /* peers with waiting ones */
	struct mtl_pm_receive
		*staged; /* the receive whose message is read in pieces; NULL: there is none */
	struct mtl_pm_requests done; /* completed, callback still to be called */
	/* it gathers, and the last send since the last poll went to it */
	struct mtl_pm_peer *burst;
	struct mtl_pm_notes free_notes;
	struct mtl_pm_message *free_messages; /* of MTL_PM_SMALL bytes */
	struct mtl_pm_comms comms;
	struct idle idle;
	bool yields_for_opal;    /* Open MPI's own yields were on, and are off until finalize */
	size_t unexpected_bytes; /* eager data held for receives not posted yet */
	size_t deaf_bytes;       /* about what was sent since the last poll */
	size_t exposed;          /* sends whose memory peers may be reading */
	size_t n_long;           /* requests of moves_long that are open and long */
	struct mtl_pm_kept kept;
	pmDesc held;          /* the datagram last taken, not given back yet; 0: none */
	uint64_t watch_ns;    /* no look at whom we wait for before; atomic */
	uint32_t deaths;      /* peers found dead */
	bool is_corked;       /* PM may hold sends to burst */
	bool has_held;        /* messages of the burst were held */
	uint64_t held_ns;     /* the first of them, or our last poll in the burst after it */
	uint64_t n_held;      /* messages since then */
	uint64_t held_bytes;  /* ... that are not announced */
	uint64_t burst_bytes; /* of the burst, also what went at once */
	uint32_t n_burst;     /* messages of it */
	enum { MTL_PM_UNDECIDED, MTL_PM_NO, MTL_PM_YES } announces; /* messages of the burst */
	uint64_t damaged;    /* datagrams dropped because no honest peer sends them */
	void *resolved;      /* address last given to PM */
	const char *options; /* that the context was opened with beside the user's; NULL: none */

	unsigned long long
		unexpected_limit; /* parameter: bytes of unexpected_bytes that choke senders */
	long middle_limit;        /* parameter: see peer's middle_limit; -1: by device */
	long pull_limit;          /* parameter: see peer's pull_limit; -1: by device */
	long head_limit;          /* parameter: see peer's head_limit; -1: by device */
	int read_limit;           /* parameter: pmReads from one peer that may run at once */
	/* parameter: 1: it serves long messages, 0: timers only, -1: there is none */
	int progress_thread;
	int batch_threads; /* parameter: see has_batch */
	unsigned long long
		/* parameter: bytes of free memory that stay with the process; 0: malloc decides */
		keep_memory;
	int priority;       /* parameter: when named in the mtl list */
	bool is_named;      /* in it; mtl_pm_component.c knows when it is opened */
	bool is_registered; /* the parameters are */
};

extern struct mtl_pm mtl_pm;
extern mca_mtl_base_component_2_0_0_t mca_mtl_pm_component;

/* Eager data up to this many bytes is kept in blocks from a free list. */
#define MTL_PM_SMALL 256

/* Shorter messages are no reason to wake the progress thread. */
#define MTL_PM_LONG 32768

/* mtl_pm_fit.c. Before anything else of Open MPI is used; false: the user has been told. */
bool mtl_pm_fits(void);

/* mtl_pm_module.c */
int mtl_pm_add_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs);
int mtl_pm_del_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs);
int mtl_pm_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
int mtl_pm_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
int mtl_pm_finalize(struct mca_mtl_base_module_t *mtl);

/* mtl_pm_peer.c */
int mtl_pm_resolve(void *arg, pmNode node, const void **ret_addr, size_t *ret_len);
/* The peer of a rank; NULL: the reason has been shown. Takes no lock. */
struct mtl_pm_peer *mtl_pm_peer_make(struct ompi_communicator_t *comm, int rank);
/* The peer of a node that wrote to us; NULL when out of memory. */
struct mtl_pm_peer *mtl_pm_peer_of_node(pmNode node);
void mtl_pm_peer_busy(struct mtl_pm_peer *peer);
/* The peer asks us to keep our data until it asks for it (or no longer). */
void mtl_pm_peer_choke(struct mtl_pm_peer *peer, bool is_choked);
/* The host of a node for messages to people; to be freed. NULL: it is not known. */
char *mtl_pm_host_of_node(pmNode node);
/* Tells people that an operation with the node ended with an error of PM. */
void mtl_pm_show_failure(pmNode node, const char *what, int error);
/* After deaths: whether the rank's process is gone. */
bool mtl_pm_rank_is_dead(struct ompi_communicator_t *comm, int rank);
/* The node of a valid rank; false: PM can't reach it, or there is none. */
bool mtl_pm_node_of_rank(struct ompi_communicator_t *comm, int rank, pmNode *ret_node);

/* mtl_pm_death.c */
/* PM says the node died: all its operations end with an error. */
void mtl_pm_peer_died(pmNode node, const char *why);

/* mtl_pm_watch.c */
/*
 * To be called at times while nothing arrives, without the lock: asks the network for peers that
 * have been waited for in vain. Nearly always it is not time yet.
 */
void mtl_pm_watch(uint64_t now_ns);
/* The program looks for messages of the rank, if it is one and not any, in vain. Lock held. */
void mtl_pm_watch_rank(struct ompi_communicator_t *comm, int rank);

/* mtl_pm_help.c */
/* Has the help file found beside the component too: in the build tree, and installed privately. */
void mtl_pm_help_find(void);
/* Prints topic @topic of the help file from this process itself. */
void mtl_pm_say(const char *topic, ...);
/*
 * The same, but only the first of the job's ranks on this host prints; it has, when this returns.
 */
void mtl_pm_say_once(const char *topic, ...);

/* mtl_pm_isend.c */
int mtl_pm_blocking_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm,
			 int dest, int tag, struct opal_convertor_t *convertor,
			 mca_pml_base_send_mode_t mode);
int mtl_pm_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest,
		 int tag, struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode,
		 bool blocking, mca_mtl_request_t *mtl_request);

/* mtl_pm_send.c */
/* A send begins: it is handed over now, or after those that wait for the same peer. */
void mtl_pm_submit(struct mtl_pm_send *s);
/* Hands over what PM takes now of the peer's sends; returns the number of datagrams. */
int mtl_pm_push_sends(struct mtl_pm_peer *peer);
void mtl_pm_send_finish(struct mtl_pm_send *s, int error);
/* A receiver answers: ACK or FIN ends the send, PULL starts the stream. */
void mtl_pm_on_ack(const struct envelope_control *m, struct mtl_pm_peer *peer);
void mtl_pm_on_pull(const struct envelope_pull *m, struct mtl_pm_peer *peer);

/* mtl_pm_burst.c */
/*
 * Before a message of MPI_Isend is handed over: it begins a burst, or goes on with one and may be
 * held. True: it is to be announced, so that its receiver reads it, although it could leave
 * unasked.
 */
bool mtl_pm_join_burst(struct mtl_pm_peer *peer, size_t length, bool is_in_one_piece,
		       mca_pml_base_send_mode_t mode);
void mtl_pm_end_burst(void);
/* Around a poll between two sends of the program: an open burst stays open. */
struct mtl_pm_peer *mtl_pm_pause_burst(void);
void mtl_pm_resume_burst(struct mtl_pm_peer *peer);
/* The peer asked for a message of a burst: for a while such messages are not announced. */
void mtl_pm_on_unread(struct mtl_pm_peer *peer);
/* It is done with one that it read. */
void mtl_pm_on_read(struct mtl_pm_peer *peer);
/* Completes the peer's gathered sends if PM holds none any more; returns whether it did. */
int mtl_pm_push_gathered(struct mtl_pm_peer *peer);
/* The peer is dead: they end with an error. */
void mtl_pm_drop_gathered(struct mtl_pm_peer *peer);

/* mtl_pm_pack.c */
/* The data in one piece, or NULL. */
const char *mtl_pm_data_of(const struct opal_convertor_t *c);
char *mtl_pm_room_of(const struct opal_convertor_t *c);
/*
 * Data that are not in one piece: begins the way through them. False: only the convertor knows it.
 */
bool mtl_pm_begin_layout(const struct opal_convertor_t *c, struct layout_walk *ret_walk);
size_t mtl_pm_pack(struct mtl_pm_send *s, void *to, size_t room);
void mtl_pm_unpack(struct mtl_pm_receive *r, const void *from, size_t length);

/* mtl_pm_irecv.c */
int mtl_pm_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		 int tag, struct opal_convertor_t *convertor, mca_mtl_request_t *mtl_request);
int mtl_pm_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor,
		  struct ompi_message_t **message, mca_mtl_request_t *mtl_request);

/* mtl_pm_receive.c */
void mtl_pm_receive_finish(struct mtl_pm_receive *r, int error);
/* The head, or the rest, has come or never will (@error); with the other the receive ends. */
void mtl_pm_receive_head_done(struct mtl_pm_receive *r, int error);
void mtl_pm_receive_rest_done(struct mtl_pm_receive *r, int error);
/* The receive and the message's envelope have met. */
void mtl_pm_receive_matched(struct mtl_pm_receive *r, int32_t source, int32_t tag, size_t size);
/* A whole head, or message, for a matched receive. */
void mtl_pm_receive_head(struct mtl_pm_receive *r, const void *data, size_t size);

/* mtl_pm_arrive.c */
/*
 * Handles the first of @n datagrams that came from a node in a row, and those behind it that go on
 * with its message: their number, at least 1. The buffers stay the caller's.
 */
size_t mtl_pm_arrive(const struct iovec *row, size_t n, pmNode node);

/*
 * mtl_pm_way.c: peers that have ways, and messages of WAYS_MIN bytes and more; others go by the
 * only way
 */
/* The stamp of such a message, which tells its receiver that it was begun now; 0 for any other. */
uint32_t mtl_pm_way_stamp(struct mtl_pm_peer *peer, size_t size);
/* A receive was matched by such a message, begun at @stamp (0: now), that comes by @way. */
void mtl_pm_way_note(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, size_t size,
		     uint32_t stamp, enum way way);
/* An announced message, of any peer: true if it is to be read, false if it is to be pulled. */
bool mtl_pm_way_is_read(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, size_t size,
			uint32_t stamp);
/* That message has come, or has failed. */
void mtl_pm_way_over(struct mtl_pm_receive *r, int error);
/* The peer has sent READ or COPY. */
void mtl_pm_on_way(const struct envelope_control *m, struct mtl_pm_peer *peer);

/* Whether the peer wants to read such a message out of our memory. */
static inline bool mtl_pm_is_read_by(const struct mtl_pm_peer *peer, size_t size)
{
	return peer->read_classes && size >= WAYS_MIN && peer->read_classes >> ways_class(size) & 1;
}

/* mtl_pm_fetch.c */
/* Fetches what is behind the announced @head of a message of @size bytes that came as RTS. */
void mtl_pm_fetch(struct mtl_pm_receive *r, struct mtl_pm_peer *peer, uint64_t remote,
		  const pmHandle *handle, size_t head, size_t size, uint32_t stamp);
/* DATA of a sender. */
void mtl_pm_on_data(const struct envelope_control *m, const void *data, size_t length,
		    const struct mtl_pm_peer *peer);
/* Looks after running and waiting reads; returns the number that ended or started. */
int mtl_pm_progress_reads(void);

/* mtl_pm_note.c */
void mtl_pm_note(struct mtl_pm_peer *peer, const void *message, size_t length);
void mtl_pm_note_control(struct mtl_pm_peer *peer, enum envelope_kind kind, uint64_t id, int error);
int mtl_pm_push_notes(struct mtl_pm_peer *peer);

/* mtl_pm_hold.c */
struct mtl_pm_message *mtl_pm_hold(struct match_context *c, const struct envelope *e,
				   struct mtl_pm_peer *peer, size_t size, size_t head);
/* Gives back the memory of a message that is in no list any more. */
void mtl_pm_message_free(struct mtl_pm_message *m);
/* The same for a message nobody will receive. */
void mtl_pm_message_drop(struct mtl_pm_message *m);

/* mtl_pm_probe.c */
int mtl_pm_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		  int tag, int *flag, struct ompi_status_public_t *status);
int mtl_pm_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src,
		   int tag, int *matched, struct ompi_message_t **message,
		   struct ompi_status_public_t *status);
int mtl_pm_cancel(struct mca_mtl_base_module_t *mtl, mca_mtl_request_t *mtl_request, int flag);

/* mtl_pm_progress.c */
int mtl_pm_progress(void);

/* mtl_pm_poll.c */
/* One round of progress; lock held. Returns the number of things done. */
int mtl_pm_poll(void);
/*
 * Polls for a while until the request is complete: for blocking calls, because a round of Open
 * MPI's own progress costs as much as a short message. Without threads only.
 */
void mtl_pm_linger(const ompi_request_t *until);
/*
 * A poll between two sends of the program: what follows belongs to the same burst, if there is one.
 */
void mtl_pm_poll_in_burst(void);

/* mtl_pm_thread.c */
/* 0 or errno. */
int mtl_pm_thread_start(void);
/* For the module's at_network: the thread starts. The user is told if it can't, once. */
void mtl_pm_thread_at_network(void);
void mtl_pm_thread_stop(void);

/*
 * The burst ends: PM sends what it held. To be called before anything but a burst is handed over,
 * and by each poll.
 */
static inline void mtl_pm_let_go(void)
{
	if (OPAL_UNLIKELY(mtl_pm.burst != NULL))
		mtl_pm_end_burst();
}

/* The request has ended; mtl_pm_leave calls back, and nothing of it may be touched afterwards. */
static inline void mtl_pm_complete(struct mtl_pm_request *req)
{
	mtl_pm.n_long -= req->is_long;
	STAILQ_INSERT_TAIL(&mtl_pm.done, req, done);
}

static inline bool mtl_pm_has_unfinished(void)
{
	return !TAILQ_EMPTY(&mtl_pm.busy) || !TAILQ_EMPTY(&mtl_pm.readers) ||
	       !TAILQ_EMPTY(&mtl_pm.waiters) || mtl_pm.staged || mtl_pm.has_client_work;
}

/* Before a request can end: whether the progress thread shall know of it. */
static inline void mtl_pm_mark_long(struct mtl_pm_request *req, size_t length)
{
	req->is_long = OPAL_UNLIKELY(mtl_pm.moves_long) && length >= MTL_PM_LONG;
	mtl_pm.n_long += req->is_long;
}

static inline struct mtl_pm_request *mtl_pm_request_of_send(struct mtl_pm_send *s)
{
	return (struct mtl_pm_request *)((char *)s - offsetof(struct mtl_pm_request, send));
}

static inline struct mtl_pm_request *mtl_pm_request_of_receive(struct mtl_pm_receive *r)
{
	return (struct mtl_pm_request *)((char *)r - offsetof(struct mtl_pm_request, receive));
}

static inline struct mtl_pm_receive *mtl_pm_receive_of_match(struct match_entry *e)
{
	return (struct mtl_pm_receive *)((char *)e - offsetof(struct mtl_pm_receive, match));
}

static inline struct mtl_pm_message *mtl_pm_message_of_match(struct match_entry *e)
{
	return (struct mtl_pm_message *)((char *)e - offsetof(struct mtl_pm_message, match));
}

static inline struct match_context *mtl_pm_matching(const struct ompi_communicator_t *comm)
{
	return ((const struct mtl_pm_comm *)comm->c_pml_comm)->matching;
}

static inline struct mtl_pm_peer *mtl_pm_peer_of(struct ompi_communicator_t *comm, int rank)
{
	struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
	struct mtl_pm_peer *peer = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL];

	return OPAL_LIKELY(peer != NULL) ? peer : mtl_pm_peer_make(comm, rank);
}

#endif
