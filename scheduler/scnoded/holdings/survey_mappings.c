// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "scheduler/scnoded/holdings/survey_inside.h"

#define SECTOR 512

/* Names that are no files. */
static bool is_plain_memory(const struct procline_mapping *m)
{
	return !*m->name || (*m->name == '[' && strcmp(m->name, "[uprobes]") != 0);
}

/* The path may lead to another file by now, or nowhere; this link leads to the file itself. */
static int read_status(pid_t pid, const struct procline_mapping *m, struct held_mapping *ret)
{
	struct statx st;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &st))
		return errno;
	ret->mode = st.stx_mode;
	ret->device = makedev(st.stx_dev_major, st.stx_dev_minor);
	ret->special = makedev(st.stx_rdev_major, st.stx_rdev_minor);
	ret->inode = st.stx_ino;
	ret->size = st.stx_size;
	ret->allocated = st.stx_blocks * SECTOR;
	ret->links = st.stx_nlink;
	return 0;
}

/* Parts of one file lie one behind the other: the parts of a library are told once. */
static bool is_same(const struct held_mapping *before, size_t process,
		    const struct procline_mapping *m, bool is_shared_writable)
{
	return before && before->process == process && before->inode == m->inode &&
	       !strcmp(before->name, m->name) &&
	       (before->is_shared_writable || !is_shared_writable);
}

static bool add_mapping(struct survey *s, size_t process, const struct procline_mapping *m)
{
	struct holdings *h = s->holdings;
	const struct held_mapping *before = h->n_mappings ? &h->mappings[h->n_mappings - 1] : NULL;
	bool is_shared_writable = m->is_shared && m->is_writable;
	struct held_mapping *mapping;
	char *name;
	int err;

	if (is_same(before, process, m, is_shared_writable))
		return true;
	name = holdings_text(h, m->name);
	mapping = name ? holdings_add_mapping(h) : NULL;
	if (!mapping) {
		free(name);
		return false;
	}
	mapping->process = process;
	mapping->start = m->start;
	mapping->inode = m->inode;
	mapping->device = m->device;
	mapping->is_shared_writable = is_shared_writable;
	mapping->name = name;
	err = read_status(h->processes[process].pid, m, mapping);
	/* Without CAP_CHECKPOINT_RESTORE; EACCES comes from file systems, too, as from FUSE. */
	if (err == EPERM)
		h->processes[process].err = err;
	else if (!survey_is_gone(err))
		mapping->err = err;
	return true;
}

void survey_mappings(struct survey *s, size_t process)
{
	struct held_process *p = &s->holdings->processes[process];
	struct procline_mapping m;
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *file;

	if (p->err || p->state == 'Z' || p->state == 'X')
		return;
	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	file = fopen(path, "re");
	if (!file && errno != ENOENT && errno != ESRCH)
		p->err = errno;
	while (file && survey_goes_on(s) && getline(&line, &size, file) > 0)
		if (procline_mapping(line, &m) && !is_plain_memory(&m) &&
		    !add_mapping(s, process, &m))
			break;
	if (file)
		fclose(file);
	free(line);
}
