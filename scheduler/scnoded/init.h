/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * init - process 1 of a job's own pid, mount and IPC namespaces. A job that is to be written to
 * disk has them: its numbers of processes and names of files are then free on any host. It mounts
 * /proc, /dev/shm and the job's directory for temporary files, has scstepd below it, and reaps
 * orphans. It ends with scstepd, and then the kernel kills the rest. Knows nothing of jobs and
 * orders.
 */
#ifndef SCHEDULER_SCNODED_INIT_H
#define SCHEDULER_SCNODED_INIT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INIT_NAME "openscore-init"
#define INIT_LOG "scstepd.log"
#define INIT_CHILD 2       /* number of scstepd in the namespace */
#define INIT_SIGNALLED 128 /* its exit code above that: the signal that killed scstepd */

/*
 * A program that process 1 starts in the place of scstepd: the daemon's own under another name. It
 * has @given as descriptor 3 and the pipe for struct init_told as descriptor 4. Below it a process
 * with number INIT_CHILD comes to be, and the helper ends. If none comes, process 1 ends as well.
 */
struct init_helper {
	pid_t number;  /* of the helper, in the namespace */
	char word[16]; /* the same as text */
	const char *const *argv;
	char *const *env;
	int given;
};

/* Where everything lies; made before the fork, see spawn.h. */
struct init_plan {
	char tmp[PATH_MAX];      /* the job's directory for temporary files */
	char log[PATH_MAX + 16]; /* standard error of scstepd, in it */
	uid_t uid;               /* of the job */
	gid_t gid;
	char shm[PATH_MAX];        /* where the job finds the host's /dev/shm */
	char stats[PATH_MAX + 16]; /* the variable that names it */
	char tmp_options[160];     /* of the file systems in memory */
	char shm_options[160];
	char **hidden; /* file systems of other jobs, which it must not hold; NULL-terminated */
	int told;      /* write end of a pipe for a struct init_told */
	const struct init_helper *helper; /* NULL: process 1 has scstepd as its child */
};

struct init_told {
	int step;  /* -1: all is mounted, and scstepd or the helper is started */
	int error; /* errno */
};

/* @bytes: of each file system; 0: as a share of the host's memory. @ret->tmp is filled before. */
void init_plan(struct init_plan *ret, uid_t uid, gid_t gid, uint64_t bytes);
/* The name of the thing that could not be had, for people. */
const char *init_step_name(int step);

/* fork() into new namespaces. 0 in the child, -errno. System calls only from there on. */
pid_t init_fork(void);
/*
 * In that child: it becomes process 1, and what returns is its child, to become scstepd. With a
 * helper nothing returns.
 */
void init_become(const struct init_plan *plan);
/*
 * The work of process 1 until its child @pid ends. That child may have been restored below it, and
 * not started by it. Then @helper has to end too, as it tells why nothing was restored; 0: there is
 * none. Returns the exit code.
 */
int init_serve(pid_t pid, pid_t helper);

#endif
