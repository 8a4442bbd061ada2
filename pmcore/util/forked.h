/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forked - what a child made by fork() must not keep: descriptors that tell others that this
 * process lives (locks, the port that packets come to). Without this a child that lingers would
 * hide its parent's death. Knows only numbers of descriptors. Any thread.
 */
#ifndef PM_UTIL_FORKED_H
#define PM_UTIL_FORKED_H

/* From now on children close @fd as soon as they are forked. 0 or -ENOMEM. */
int forked_close(int fd);
/* No longer; to be called before @fd is closed. One that was never given is passed over. */
void forked_keep(int fd);

#endif
