/* SPDX-License-Identifier: BSD-3-Clause */
/* role - the names under which scnoded is executed to be something else than the daemon. */
#ifndef SCHEDULER_SCNODED_CRIU_ROLE_H
#define SCHEDULER_SCNODED_CRIU_ROLE_H

#include <stdbool.h>

/* Plays the role that the first word names, and gives the exit code. false: it names none. */
bool role_play(int argc, char **argv, int *ret_code);

#endif
