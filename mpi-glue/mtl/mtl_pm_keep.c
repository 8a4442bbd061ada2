// SPDX-License-Identifier: BSD-3-Clause
/*
 * mtl_pm_keep - the parked progress thread keeps PM's timers while the program is outside of MPI
 * (common/keep.h): lost packets are sent again, and what peers wait for is acknowledged. Nothing is
 * taken from PM: messages wait for the program's next call.
 *
 * A program with one thread takes no lock, and passes a door: it says that it is inside, then looks
 * at the gate. The thread closes the gate, then looks whether the program is inside. Each must see
 * the other, and the kernel's membarrier, which only the thread calls, is what makes that certain
 * without a fence in each call of the program.
 */
#include "mpi-glue/mtl/mtl_pm.h"
#include "mpi-glue/mtl/mtl_pm_thread.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool mtl_pm_keep_begin(void)
{
	const long needed = MEMBARRIER_CMD_PRIVATE_EXPEDITED |
			    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return known > 0 && (known & needed) == needed;
}

/*
 * No lock held: in a process with threads the kernel waits some 20 ms for all processors, so this
 * is the thread's to do, and only for a program that leaves MPI.
 */
static void ask_for_barriers(void)
{
	if (mtl_pm_helper.has_barriers)
		return;
	/* Where it fails, so does the barrier, and the gate stays open. */
	mtl_pm_helper.has_barriers =
		!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static bool is_unseen(void)
{
	return __atomic_load_n(&mtl_pm.presence, __ATOMIC_ACQUIRE) == MTL_PM_UNSEEN;
}

/* A mark that the program's next call takes away. */
static void mark(void)
{
	uint32_t outside = MTL_PM_OUTSIDE;

	__atomic_compare_exchange_n(&mtl_pm.presence, &outside, MTL_PM_UNSEEN, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Lock held: the program can't come in from here on. False: it is inside, or was. */
static bool close_gate(void)
{
	__atomic_fetch_or(&mtl_pm.gate, MTL_PM_GATE_TAKEN, __ATOMIC_SEQ_CST);
	/* Threads of the program take the lock anyway. Without the barrier nobody may come in. */
	if ((mtl_pm_helper.allows_threads ||
	     !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) &&
	    is_unseen())
		return true;
	__atomic_fetch_and(&mtl_pm.gate, ~(uint32_t)MTL_PM_GATE_TAKEN, __ATOMIC_RELEASE);
	return false;
}

/*
 * Lock held, gate closed: a round of PM, and how long to sleep after it. PM hears of the sleep
 * last, as it counts the time until it is asked again. An error, such as no free descriptor, is
 * for the program's next call, which has it as well if it lasts.
 */
static int look(void)
{
	bool is_owed;
	int fd, ms = -1;

	mtl_pm.is_helping = true;
	is_owed = pmIsSendDone(mtl_pm.ctx, PM_NODE_ANY) == ENOBUFS;
	/* The descriptor would wake us for each message, and peers would have to ring for it. */
	if (!pmBeforeSelect(mtl_pm.ctx, &fd, &ms))
		pmAfterSelect(mtl_pm.ctx);
	mtl_pm.is_helping = false;
	return keep_looked(&mtl_pm_helper.keep, is_owed, ms);
}

int mtl_pm_keep(void)
{
	int ms = KEEP_DOZE_MS;

	/*
	 * The state is looked at with the lock only; as long as the gate is closed the mark stays.
	 */
	if (!is_unseen()) {
		mark();
		return ms;
	}
	if (!mtl_pm_helper.allows_threads)
		ask_for_barriers();
	if (pthread_mutex_trylock(&mtl_pm.lock))
		return ms;
	if (mtl_pm_helper.keep.state != KEEP_DOZES || close_gate())
		ms = look();
	pthread_mutex_unlock(&mtl_pm.lock);
	return ms;
}
