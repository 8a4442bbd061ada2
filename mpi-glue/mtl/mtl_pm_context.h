/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtl_pm_context - the PM context of the process, which mtl/pm and btl/pm share. The first one of
 * them opens it, the last one closes it. mtl/pm polls it for both.
 */
#ifndef MTL_PM_CONTEXT_H
#define MTL_PM_CONTEXT_H

#include "mpi-glue/mtl/mtl_pm.h"

/*
 * btl/pm, which shares the context. All but progress() are called with the lock, perhaps by the
 * progress thread, and call nothing of Open MPI.
 */
struct mtl_pm_client {
	/* A datagram whose first byte is ENVELOPE_OTHERS or more. The bytes stay the caller's. */
	void (*arrive)(struct mtl_pm_peer *peer, const void *datagram, size_t length);
	/* While has_client_work, in each poll: looks after what is not finished; what it did. */
	int (*poll)(void);
	/* PM says that the peer died. */
	void (*died)(struct mtl_pm_peer *peer, const char *why);
	/* After each round of progress of the program's threads, without the lock: what it did. */
	int (*progress)(void);
	/* None of its operations is under way, and no answer of its waits. */
	bool (*is_idle)(void);
	/* The peer is reached by another device, maybe. */
	void (*met_again)(struct mtl_pm_peer *peer);
};

/* mtl_pm_memory.c. Has malloc keep so many free bytes, unless the user tuned it; 0: as it is. */
void mtl_pm_memory_keep(unsigned long long bytes);

/*
 * mtl_pm_component.c. Has the parameters registered that the context needs. False: the component
 * was built for another Open MPI, and nothing of it may be used.
 */
bool mtl_pm_register(void);
/* Whether the user wants messages to go by mtl/pm. */
bool mtl_pm_is_asked_for(void);

/*
 * Opens the context and publishes its address; a second user gets the same one. OMPI_SUCCESS, or
 * the user has been told why not.
 */
int mtl_pm_open(bool wants_threads);
/*
 * The program is done with MPI: all that was sent is acknowledged, then the processes of the job
 * wait for each other, once. To be called by all of them.
 */
void mtl_pm_part(void);
/* With the last user the context closes. */
void mtl_pm_close(void);

/*
 * mtl_pm_peer.c. The context has other devices: what is known of the way to the peer is found out
 * anew. False: none leads there, pmLastError.
 */
bool mtl_pm_peer_meet_again(struct mtl_pm_peer *peer);

/* The datagrams that were taken last are done with. */
static inline void mtl_pm_release_held(void)
{
	if (!mtl_pm.held)
		return;
	pmReleaseReceiveBuffer(mtl_pm.ctx, mtl_pm.held);
	mtl_pm.held = 0;
}

/* mtl_pm_burst.c. Until the burst ends PM may hold what the client hands over. */
void mtl_pm_begin_requests(void);

#endif
