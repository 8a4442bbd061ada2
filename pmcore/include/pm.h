/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pm.h - the PM communication layer: the only header an application needs.
 *
 * Model (PMv2, with PMX's descriptors): reliable, ordered datagrams of 1..MTU bytes between the
 * nodes of one job. A node is one process holding one context; it is named by a 32-bit number that
 * need not be dense. There are no connections: state for a peer appears at first contact. Buffers
 * are lent by the library and filled or read in place. No call blocks, except pmWait and pmQuiesce
 * with a time limit; "not now" is ENOBUFS and the caller tries again after pmReceive.
 *
 * Return value of every int function: PM_SUCCESS (0) or a positive errno value. Outputs (ret_*) are
 * written only on success. A closed, foreign or invented handle gives EBADF, never a crash.
 *
 * Threads: one context is used by one thread at a time; different contexts are independent.
 * fork(): contexts stay with the parent; to the child their handles are closed ones (EBADF).
 * Progress is made inside pmReceive, pmSend, pmRead, pmWrite, pmIs*Done, pmWait and pmQuiesce.
 */
#ifndef PM_H
#define PM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PM_SUCCESS 0
#define PM_VERSION_MAJOR 0
#define PM_VERSION_MINOR 1

/* A context handle. 0 is never valid. */
typedef uint32_t pmContext;
/* A node number, unique within a job. */
typedef uint32_t pmNode;
/* A send buffer, receive buffer or one-sided operation that is still open. 0 is never valid. */
typedef uint64_t pmDesc;

#define PM_CONTEXT_NONE 0u
#define PM_NODE_ANY 0xffffffffu
/* Longest address pmGetAddress gives, in bytes. */
#define PM_ADDRESS_MAX 1024

/* Names a memory region exported by pmMLock; plain bytes, to be sent to peers in any way. */
typedef struct pmHandle {
	uint64_t word[4];
} pmHandle;

/*
 * Gives the address of @node, as published by its pmGetAddress, by pointing *@ret_addr and
 * *@ret_len at memory that stays valid until the next call. Called at first contact with a node,
 * from within any progressing call; must not call pm functions on the same context. Returns 0,
 * EAGAIN (not known yet: the operation gives ENOBUFS and may be tried again) or another errno (the
 * operation fails with it).
 */
typedef int (*pmResolver)(void *arg, pmNode node, const void **ret_addr, size_t *ret_len);

/*
 * Settings for pmOpenContext. Zero the struct, set @size to sizeof, then the fields; the size lets
 * later versions add fields.
 */
struct pmOptions {
	size_t size;
	/* secret shared by the nodes of the job; packets with another are dropped */
	uint64_t job_key;
	pmNode self;    /* this node's number; not PM_NODE_ANY */
	uint32_t nodes; /* nodes expected in the job, a hint for sizing; 0 = unknown */
	uint32_t local; /* nodes of the job expected on this host, a hint; 0 = unknown */
	const char
		*config; /* "key=value,..." laid over $PM_OPTIONS; NULL = none; see pm_options(5) */
	pmResolver resolver;
	void *resolver_arg;
};

/*
 * Opens a context. EINVAL: bad option (pmLastError tells which). ENODEV: no device could be opened.
 * EMFILE, ENOMEM. EEXIST: another live process of this host opened the same job with the same node.
 */
int pmOpenContext(const struct pmOptions *options, pmContext *ret_ctx);
/* Closes; open descriptors and handles of the context die. Messages not yet acked may be lost: call
 * pmQuiesce before. */
int pmCloseContext(pmContext ctx);

/* This context's address for other nodes: at most PM_ADDRESS_MAX bytes are written to @buf.
 * *@len is the room on entry, the length on return. ENOSPC: too little room. */
int pmGetAddress(pmContext ctx, void *buf, size_t *len);
/* Gives a node's address ahead of the resolver. EEXIST: another address is already in use. */
int pmAddNode(pmContext ctx, pmNode node, const void *addr, size_t len);
/*
 * Forgets a node: its unsent messages are discarded, later contact resolves it anew. A live node
 * has to forget us as well before the two can speak again, since both start counting messages anew.
 */
int pmRemoveNode(pmContext ctx, pmNode node);
/*
 * Asks the network whether @node's process is still there, for who waits for a message of it: a
 * node that dies while nothing is sent to it would never be missed. If the network knows that it is
 * gone, a later pmReceive gives EPIPE. Networks are believed when they say so three times within 10
 * s, so ask again, some ms to some seconds apart, while waiting. Silence proves nothing: a node
 * that only computes is not found dead by asking, however long it takes. Does nothing on devices
 * that notice deaths by themselves. ENOBUFS: not now. EINVAL: PM_NODE_ANY. EHOSTUNREACH, EPIPE: as
 * pmGetSendBuffer.
 */
int pmProbeNode(pmContext ctx, pmNode node);
int pmSetResolver(pmContext ctx, pmResolver resolver, void *arg);

int pmGetSelf(pmContext ctx, pmNode *ret_node);
/* Largest datagram to @node (PM_NODE_ANY: to every node). EHOSTUNREACH: no device reaches it. */
int pmGetMtu(pmContext ctx, pmNode node, size_t *ret_mtu);

/*
 * Two-sided. Reserve @len bytes (1..MTU) towards @node, fill, send. Several buffers may be open at
 * once, up to PM_ATTR_SEND_BUFFERS; messages to one node arrive in the order of their pmSend.
 * ENOBUFS: none free now. EINVAL: bad @len. EHOSTUNREACH: no device reaches the node.
 * EPIPE: the node died (pmLastError tells how it was found out).
 */
int pmGetSendBuffer(pmContext ctx, pmNode node, size_t len, void **ret_buf, pmDesc *ret_desc);
/* Shortens a reserved buffer to @len, 1..reserved. */
int pmTruncateBuffer(pmContext ctx, pmDesc desc, size_t len);
/* Sends and gives the buffer back. Never ENOBUFS: the reservation was the promise. */
int pmSend(pmContext ctx, pmDesc desc);
/* Reserves, copies @data and sends in one call: the quicker way for small datagrams. Errors as
 * pmGetSendBuffer; nothing was sent then. */
int pmPost(pmContext ctx, pmNode node, const void *data, size_t len);
/*
 * Sends @len bytes (at least 1) of @data as a row of datagrams. Each is a copy of the head
 * (@headLen bytes, 0 with NULL) and of the next @part bytes of data. The last one has what is left.
 * The same as as many pmPost, and cheaper. *ret_done: bytes of data that were taken, in any case.
 * PM_SUCCESS: all. ENOBUFS: no more now; the rest may be sent later. Other errors as pmPost.
 */
int pmPostRow(pmContext ctx, pmNode node, const void *head, size_t headLen, const void *data,
	      size_t len, size_t part, size_t *ret_done);
/*
 * The same with data that @gather brings, @n bytes with each call: the next ones, one datagram
 * after the other. It is called with @arg only for what is taken, and calls no function of PM.
 */
typedef void (*pmGather)(void *arg, void *to, size_t n);
int pmGatherRow(pmContext ctx, pmNode node, const void *head, size_t headLen, pmGather gather,
		void *arg, size_t len, size_t part, size_t *ret_done);
/*
 * The same for a row whose first datagram has a head of its own, as the first of a message has. A
 * head is @len bytes, and up to @part bytes of data follow it. If *ret_done is 0, the first
 * datagram was not sent either. If it is not, and less than all, pmPostRow or pmGatherRow with the
 * head of the others sends the rest.
 */
typedef struct pmRowHead {
	const void *data;
	size_t len;
	size_t part;
} pmRowHead;
int pmPostHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		    const void *data, size_t len, size_t *ret_done);
int pmGatherHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		      pmGather gather, void *arg, size_t len, size_t *ret_done);
/*
 * Corked (@is_on not 0): of a burst of datagrams to one node, those beyond the first few may wait
 * for the next pmReceive, pmWait or pmCork(ctx, 0), and share packets meanwhile. For programs that
 * send several and then receive or wait; not before long computations. Contexts begin uncorked:
 * nothing waits then.
 */
int pmCork(pmContext ctx, int is_on);
/* Gives a reserved buffer back unsent. */
int pmDiscardSendBuffer(pmContext ctx, pmDesc desc);
/*
 * PM_SUCCESS when PM holds back nothing that was sent to @node: the caller may turn to long
 * computations. ENOBUFS: some waits for the cork or for the node to take more, and leaves in a
 * later pmReceive. Nothing is held back for a dead node. Quick, and makes no progress itself.
 */
int pmIsSendOut(pmContext ctx, pmNode node);
/* PM_SUCCESS when all sent to @node (PM_NODE_ANY: to all) has reached its library, ENOBUFS not yet,
 * EPIPE when the node died first. */
int pmIsSendDone(pmContext ctx, pmNode node);

/*
 * Next message in place. ENOBUFS: nothing has arrived. The buffer is the caller's until released;
 * several may be held, released in any order. Holding many starves the senders.
 * EPIPE: a peer was found dead since the last call; *ret_src names it (the one output written on
 * error); reported once per peer, other peers go on.
 */
int pmReceive(pmContext ctx, void **ret_buf, size_t *ret_len, pmNode *ret_src, pmDesc *ret_desc);

/*
 * Receives a message as pmReceive does, and up to @room - 1 more that have come behind it from the
 * same node and are here already: ret_parts[0..*ret_n), in their order. One descriptor stands for
 * all of them. The same as as many pmReceive, and cheaper. Errors as pmReceive.
 */
int pmReceiveRow(pmContext ctx, struct iovec *ret_parts, size_t room, size_t *ret_n,
		 pmNode *ret_src, pmDesc *ret_desc);
int pmReleaseReceiveBuffer(pmContext ctx, pmDesc desc);

/*
 * One-sided. pmMLock exports [addr, addr+len) to the nodes that are given the handle; the memory
 * must stay mapped until pmMUnlock. Of bytes that the owner writes while somebody reads them, also
 * just after pmMUnlock, the reader gets the old or the new ones. pmRead copies @len bytes from
 * @roffset of the remote region to @local, pmWrite the other way. @local must stay untouched until
 * the operation is done. Needs the remote process to call a progressing function, but for reads
 * inside a host where the kernel lets us copy out of its memory. pmIsReadDone/pmIsWriteDone:
 * PM_SUCCESS and the descriptor is gone; ENOBUFS not yet; EPIPE node died, EACCES the region does
 * not exist there or the range is outside: descriptor gone as well.
 */
int pmMLock(pmContext ctx, void *addr, size_t len, pmHandle *ret_handle);
int pmMUnlock(pmContext ctx, const pmHandle *handle);
int pmRead(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset, void *local,
	   size_t len, pmDesc *ret_desc);
int pmIsReadDone(pmContext ctx, pmDesc desc);
int pmWrite(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset, const void *local,
	    size_t len, pmDesc *ret_desc);
int pmIsWriteDone(pmContext ctx, pmDesc desc);

/*
 * Atomic operations on numbers in exported memory. pmAtomic has @node's library carry @op out on
 * the number at @roffset of the region, once, in its next progressing call: behind the messages
 * sent to it before, whatever the device. Operations on a number are atomic towards each other, by
 * whichever device they come, and towards the processor's own, so also towards pmAtomicHere and
 * C11 atomics of the owner. The owner has to reach us for its answer, and sends none while it is
 * quiet (pmQuiesce).
 *
 * pmIsAtomicDone: PM_SUCCESS with the value that was there before; ENOBUFS not yet; EPIPE the node
 * died, closed its context or was removed. EACCES: the region does not exist there, the number is
 * outside, or its address is no multiple of its width. All of these but ENOBUFS end the descriptor.
 */
enum pmAtomicKind {
	PM_ATOMIC_ADD = 1,
	PM_ATOMIC_AND,
	PM_ATOMIC_OR,
	PM_ATOMIC_XOR,
	PM_ATOMIC_SWAP,
	PM_ATOMIC_COMPARE_SWAP, /* gets operand, if it is compare */
};
typedef struct pmAtomicOp {
	uint32_t kind;    /* enum pmAtomicKind */
	uint32_t width;   /* of the number, bytes: 4 or 8. Of 4 the lower half of these counts: */
	uint64_t operand; /* added to it, put in its place, ... */
	uint64_t compare;
} pmAtomicOp;
int pmAtomic(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset,
	     const pmAtomicOp *op, pmDesc *ret_desc);
int pmIsAtomicDone(pmContext ctx, pmDesc desc, uint64_t *ret_before);
/* The same on a number of this process, at once. Any thread. EINVAL: bad @op or alignment. */
int pmAtomicHere(const pmAtomicOp *op, void *at, uint64_t *ret_before);

/*
 * Sleeping. pmBeforeSelect arms the context: ENOBUFS means messages are waiting, drain first; else
 * *ret_fd becomes readable when pmReceive has something to do, and *ret_timeout_ms (-1 none) says
 * when to come back at the latest. pmAfterSelect must follow before other calls. pmWait does all
 * that: spins briefly (yields when cores are short), then sleeps; PM_SUCCESS when there may be
 * something to receive, or an atomic operation is over. ETIMEDOUT after @timeout_ms (-1 = no
 * limit).
 */
int pmBeforeSelect(pmContext ctx, int *ret_fd, int *ret_timeout_ms);
int pmAfterSelect(pmContext ctx);
int pmWait(pmContext ctx, int timeout_ms);

/*
 * Stop and go. pmQuiesce stops new transmissions and returns when everything sent has been acked
 * and nothing of ours is in the network; ETIMEDOUT after @timeout_ms (sending stays stopped). While
 * quiet pmGetSendBuffer gives ENOBUFS. Others may need its answers to become quiet: who stops
 * several calls it for each in turn until all are quiet at once. pmResume lets it go on.
 * pmSaveContext writes the state of a quiet context, received but unread messages included, to @buf
 * (ENOSPC: *ret_len is the room needed; EBUSY: not quiet, or descriptors are open).
 * pmRestoreContext puts it into a newly opened context of the same node and job (EINVAL: damaged or
 * of another node).
 */
int pmQuiesce(pmContext ctx, int timeout_ms);
int pmResume(pmContext ctx);
int pmSaveContext(pmContext ctx, void *buf, size_t size, size_t *ret_len);
int pmRestoreContext(pmContext ctx, const void *buf, size_t len);

/*
 * Without devices for a while. All nodes of a job give their devices back, whose sockets, queues
 * and shared memory are gone then, and open others later, maybe on other hosts. They do it in
 * steps, and between two steps each waits for all, by means other than PM:
 *  1. pmHold: the context takes nothing new on (ENOBUFS), and goes on with what it has accepted.
 *     Each calls pmIsSendDone(PM_NODE_ANY) until it says so at all of them, and ends its one-sided
 *     operations. These calls take in what others send, and keep it for pmReceive.
 *  2. pmQuiesce, each several times in turn until all are quiet at once. Messages that
 *     have arrived and were not taken stay with the context.
 *  3. pmSuspend. EBUSY: not quiet or not held, a descriptor is open, or messages have not left.
 *     Until pmRevive calls with a node give ENOBUFS. Received messages can be taken, and memory
 *     exported or withdrawn; handles stay good.
 *  4. pmRevive, with @config as in pmOptions and a job key that the job has not had yet. EINVAL,
 *     ENODEV and others as pmOpenContext: the context is suspended still, and it may be tried
 *     again. Addresses and sizes (pmGetAddress, pmGetMtu, pmGetLongRead) are new ones then, as is
 *     the descriptor of pmBeforeSelect; all nodes are strangers until they are met again.
 *  5. pmResume, when the others have the new address.
 * pmResume before step 3 gives the plan up.
 */
int pmHold(pmContext ctx);
int pmSuspend(pmContext ctx);
int pmRevive(pmContext ctx, const char *config, uint64_t job_key);

/*
 * Attributes, all read-only 64-bit numbers. EINVAL: unknown attribute. ENOBUFS: one of the devices,
 * and the context is suspended.
 */
enum pmAttribute {
	PM_ATTR_SEND_BUFFERS = 1, /* send buffers that may be open at once */
	PM_ATTR_RECEIVE_BUFFERS,  /* receive buffers that may be held at once */
	PM_ATTR_RAILS,            /* rails of the network device; 0 without one */
	PM_ATTR_PEERS,            /* nodes in contact */
	PM_ATTR_MEMORY,           /* bytes held by the context now */
	PM_ATTR_MTU_MAX,          /* largest datagram any device of the context takes */
};
int pmGetAttribute(pmContext ctx, enum pmAttribute attribute, uint64_t *ret_value);
/*
 * Bytes from which on a message to @node arrives sooner when its receiver reads it (pmRead) than in
 * datagrams; 0: it is left to the caller. ENOBUFS, EHOSTUNREACH, EPIPE as pmSend.
 */
int pmGetLongRead(pmContext ctx, pmNode node, uint64_t *ret_bytes);
/*
 * Does @node have a stream open by which it reads from here? Then many messages of some KiB, under
 * way together, arrive sooner when they are read. ENOBUFS: not now, it connects when it has
 * something to read. EHOSTUNREACH, EPIPE as pmSend.
 */
int pmIsStreamOpen(pmContext ctx, pmNode node);
/* Name of the device that serves @node ("self", "shmem", "udp", ...). Static storage. */
int pmGetDeviceName(pmContext ctx, pmNode node, const char **ret_name);
/*
 * A sentence that the program should show its user once: which of the devices and ports he named
 * could not be opened, and why. "" if there is nothing to say. Valid until the context is closed.
 */
int pmGetNote(pmContext ctx, const char **ret_text);

/* Writes the state of the context as readable text to the file descriptor @fd. */
int pmDumpContext(pmContext ctx, int fd);
/* Text of an error code. Static storage, any thread. */
const char *pmErrorString(int error);
/*
 * Sentence about the calling thread's last failed call: thing, place, remedy; "" if none. Valid
 * until the thread's next pm call.
 */
const char *pmLastError(void);

#ifdef __cplusplus
}
#endif
#endif
