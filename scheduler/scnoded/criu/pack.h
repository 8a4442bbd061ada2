/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack - the files of a job's own file systems in memory, /dev/shm and $TMPDIR. CRIU stores nothing
 * of files that have a name. So CRIU calls scnoded under another name while the processes stand
 * still, and their files are packed beside its images by tar. A restore unpacks them before.
 */
#ifndef SCHEDULER_SCNODED_CRIU_PACK_H
#define SCHEDULER_SCNODED_CRIU_PACK_H

#define PACK_NAME "openscore-pack"
#define PACK_TMP "OPENSCORE_TMP" /* variable: $TMPDIR of the job, as it sees it */

/*
 * The program of that name: what CRIU's action script does. It is in the mount namespace of the
 * job. Returns the exit code if it does not become tar.
 */
int pack_main(void);
/*
 * Unpacks the files in directory @dir into fresh file systems of the same names. NULL, or a
 * sentence of the caller's that says how that has failed.
 */
char *pack_restore(int dir);

#endif
