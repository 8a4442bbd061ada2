/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * guard - only processes of the job's own user reach PMIx's server. It listens on the loopback
 * interface, where everybody on the host may connect, and believes what a client says of its user;
 * a client may have programs started. And a client that is killed at a bad moment does not break
 * PMIx's server.
 */
#ifndef SCHEDULER_SCSTEPD_PMIX_GUARD_H
#define SCHEDULER_SCSTEPD_PMIX_GUARD_H

/*
 * Before PMIx's server starts. 0, or -errno: the kernel does not tell whose a connection is, nobody
 * would get in.
 */
int guard_open(void);
/* After PMIx's server has ended. */
void guard_close(void);

#endif
