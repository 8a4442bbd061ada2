// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "scheduler/scnoded/holdings/restorable_inside.h"

#define DEVICE_ZERO makedev(1, 5)

static void refuse(const struct judge *j, const struct held_mapping *m, const char *what)
{
	judge_refuse(j, m->process,
		     "maps %s at 0x%llx, which cannot be restored; unmap it before a checkpoint",
		     what, (unsigned long long)m->start);
}

static void refuse_path(const struct judge *j, const struct held_mapping *m, const char *kind)
{
	char what[JUDGE_PATH_SHOWN + 64];

	strcpy(what, kind);
	strncat(what, m->name, JUDGE_PATH_SHOWN);
	refuse(j, m, what);
}

/* Memory of the kernel that looks like a file of its own; CRIU knows these. */
static bool is_kernels_memory(const char *name)
{
	return judge_starts(name, "/memfd:") || judge_starts(name, "/[aio]") ||
	       judge_starts(name, "/anon_hugepage") || !strcmp(name, "/dev/zero (deleted)");
}

static void judge_deleted(const struct judge *j, const struct held_mapping *m)
{
	if (m->links)
		judge_refuse(
			j, m->process,
			"maps %.*s, which has other names but not this one any more, so it cannot "
			"be restored; unmap it before a checkpoint",
			JUDGE_PATH_SHOWN, m->name);
	else if (m->allocated > j->terms->ghost_bytes)
		judge_refuse(
			j, m->process,
			"maps %.*s: %llu bytes, more than the %llu that a file without a name may "
			"have; don't delete it while it is mapped",
			JUDGE_PATH_SHOWN, m->name, (unsigned long long)m->allocated,
			(unsigned long long)j->terms->ghost_bytes);
}

/* Those in an IPC namespace of the job's own are written down with it. */
static void judge_sysv(const struct judge *j, const struct held_mapping *m)
{
	if (!j->holdings->has_own_ipc)
		refuse(j, m, "shared memory of System V, which belongs to the host,");
}

void judge_mapping(const struct judge *j, const struct held_mapping *m)
{
	char text[128];

	if (!strcmp(m->name, "[uprobes]"))
		refuse(j, m, "a probe of perf or of a BPF program");
	else if (judge_starts(m->name, "socket:"))
		refuse(j, m, "the rings of a socket");
	else if (judge_starts(m->name, "anon_inode:"))
		refuse(j, m, judge_anonymous(m->name, text, sizeof(text)));
	else if (judge_starts(m->name, "/SYSV"))
		judge_sysv(j, m);
	else if (judge_starts(m->name, "/secretmem"))
		refuse(j, m, "secret memory (memfd_secret)");
	else if (is_kernels_memory(m->name))
		return;
	else if (m->err)
		judge_refuse(
			j, m->process,
			"maps %.*s at 0x%llx, which scnoded can't look at: %s; unmap it before a "
			"checkpoint",
			JUDGE_PATH_SHOWN, m->name, (unsigned long long)m->start, strerror(m->err));
	else if (S_ISCHR(m->mode) ? m->special != DEVICE_ZERO : S_ISBLK(m->mode))
		refuse_path(j, m, "the device ");
	else if (judge_starts(m->name, "/sys/") || judge_starts(m->name, "/proc/"))
		refuse_path(j, m, "memory of a device by ");
	else if (*m->name != '/')
		refuse_path(j, m, "the object of the kernel ");
	else if (judge_is_silly(m->name))
		judge_refuse(j, m->process,
			     "maps %.*s, which was deleted and NFS keeps while it is mapped, so it "
			     "cannot be restored; unmap it before a checkpoint",
			     JUDGE_PATH_SHOWN, m->name);
	else if (judge_ends(m->name, " (deleted)"))
		judge_deleted(j, m);
}
