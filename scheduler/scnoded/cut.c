// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/cut.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && path[n] == '/';
}

static char *refuse(const struct hostfile *h, const char *path, const char *what)
{
	return daemon_text("host %s: job %" PRIu64 " can't be restored from checkpoint %" PRIu64
			   ", as its file %s %s",
			   h->host, h->job, h->round, path, what);
}

static char *cut(const struct hostfile *h, const struct hostfile_writable *file, bool is_same_host,
		 bool is_checked)
{
	int fd = open(file->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	/* CRIU tells whether it needs the file, and what is wrong. */
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != file->inode ||
	    (is_same_host && st.st_dev != file->device))
		text = refuse(h, file->path,
			      "is another one than it was then; put the old one there, or take "
			      "another checkpoint");
	else if ((uint64_t)st.st_size < file->size)
		text = refuse(h, file->path,
			      "is smaller than it was then; take an older checkpoint");
	else if (is_checked && (uint64_t)st.st_size > file->size &&
		 ftruncate(fd, (off_t)file->size))
		text = refuse(h, file->path, strerror(errno));
	close(fd);
	return text;
}

static void become_user(uid_t uid, gid_t gid)
{
	if (geteuid())
		return;
	setgroups(0, NULL);
	setfsgid(gid);
	setfsuid(uid);
}

char *cut_files(const struct hostfile *h, const char *host, const char *tmp, uid_t uid, gid_t gid)
{
	bool is_same_host = !strcmp(h->host, host);
	char *text = NULL;

	become_user(uid, gid);
	/* Nothing is lost when one of them is refused: all are looked at first. */
	for (size_t i = 0; !text && i < 2 * h->n_writables; i++) {
		const struct hostfile_writable *file = &h->writables[i % h->n_writables];

		if (!is_below(file->path, tmp) && !is_below(file->path, "/dev/shm"))
			text = cut(h, file, is_same_host, i >= h->n_writables);
	}
	return text;
}
