/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * envfile - files of variables, as --env-file names them: a line is NAME=VALUE, empty, or a comment
 * that begins with "#". The value is all up to the end of its line, as it stands.
 */
#ifndef SCHEDULER_SCRUN_ENVFILE_H
#define SCHEDULER_SCRUN_ENVFILE_H

#include <stddef.h>

#include "scheduler/scrun/options.h"

/*
 * Puts what all @files say in front of *@env, a NULL-terminated list that is owned as its texts
 * are: what comes later wins. 0, or -errno with a sentence that names file and line; *@env is as it
 * was then.
 */
int envfile_put_before(char ***env, const struct words *files, char *why, size_t why_size);

#endif
