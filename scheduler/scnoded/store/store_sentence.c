// SPDX-License-Identifier: BSD-3-Clause
/* store_sentence - what has gone wrong with a checkpoint on disk, for people. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/proto/files.h"
#include "scheduler/scnoded/store/store_inside.h"

#define CLAUSE_MAX 1024

static const char *remedy(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "make room there, or choose another directory";
	case ENOMEM:
		return "the host has no memory left";
	case EIO:
	case EROFS:
		return "look after that disk";
	case ELOOP:
	case ENOTDIR:
		return "only directories belong there; remove what else it is";
	case EPERM:
	case EACCES:
		return "it must be a directory of root alone (chmod 700)";
	case ENOENT:
		return "look whether somebody has removed it, whether the disk is mounted, and "
		       "whether the host shares it with the one that wrote it";
	case EBUSY:
		return "unmount what is mounted there";
	default:
		return files_remedy(error, "look after that directory");
	}
}

static char *begin(const struct store_place *place, const char *host, const char *clause,
		   const char *tail)
{
	char which[64] = "checkpoints";

	if (place->job && place->round)
		snprintf(which, sizeof(which), "checkpoint %llu of job %llu",
			 (unsigned long long)place->round, (unsigned long long)place->job);
	else if (place->job)
		snprintf(which, sizeof(which), "checkpoints of job %llu",
			 (unsigned long long)place->job);
	return daemon_text("%s%s%s%s in %s: %s%s", host ? "host " : "", host ? host : "",
			   host ? ": " : "", which, place->directory, clause, tail);
}

char *store_failed(const struct store_place *place, const char *host, int error, const char *fmt,
		   ...)
{
	char clause[CLAUSE_MAX], tail[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(clause, sizeof(clause), fmt, args);
	va_end(args);
	snprintf(tail, sizeof(tail), ": %s; %s", strerror(error), remedy(error));
	return begin(place, host, clause, tail);
}

char *store_wrong(const struct store_place *place, const char *host, const char *fmt, ...)
{
	char clause[CLAUSE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(clause, sizeof(clause), fmt, args);
	va_end(args);
	return begin(place, host, clause, "");
}
