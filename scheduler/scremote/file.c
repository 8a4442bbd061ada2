// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/scremote/process.h"

#define SUFFIX ".scout-XXXXXX"

struct file {
	const struct file_plan *plan;
	char path[2 * PATH_MAX];
	char part[2 * PATH_MAX + sizeof(SUFFIX)]; /* where it is written; "": not there */
	int fd;
	uint64_t done; /* bytes */
	struct sha256_ctx sum;
	struct file_report report;
};

static char chunk[FRAME_CHUNK];

/* ---- the agent's side ---- */

bool file_hear(struct file_report *ret, int control, const char *host)
{
	ssize_t n = recv(control, ret, sizeof(*ret), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n == sizeof(*ret))
		return true;
	*ret = (struct file_report){.error = ECHILD};
	snprintf(ret->text, sizeof(ret->text), "host %s: the process that had the file was killed",
		 host);
	return true;
}

/* ---- both ---- */

/* The first that fails is told. */
static bool fail(struct file *f, int error, const char *what)
{
	if (f->report.error)
		return false;
	f->report.error = error;
	snprintf(f->report.text, sizeof(f->report.text), "%.800s, host %.80s: %s%s%s", f->path,
		 f->plan->host, what, *what ? ": " : "", strerror(error));
	return false;
}

static void report(const struct file *f)
{
	/* An agent that is gone needs none. */
	if (send(f->plan->control, &f->report, sizeof(f->report), MSG_NOSIGNAL) < 0)
		return;
}

static void finish_sum(struct file *f)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(&f->sum, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(f->report.sha256 + 2 * i, 3, "%02x", digest[i]);
}

static void begin(struct file *f, const struct file_plan *plan)
{
	const char *path = plan->message->path;

	*f = (struct file){.plan = plan, .fd = -1};
	sha256_init(&f->sum);
	if (*path == '/')
		snprintf(f->path, sizeof(f->path), "%s", path);
	else
		snprintf(f->path, sizeof(f->path), "%s/%s", plan->home, path);
}

/* Bytes of @from, 0 at its end. */
static ssize_t read_chunk(int from)
{
	ssize_t n;

	do
		n = read(from, chunk, sizeof(chunk));
	while (n < 0 && errno == EINTR);
	return n;
}

static bool write_all(int to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(to, chunk + done, size - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* ---- one that comes ---- */

static bool make_part(struct file *f)
{
	struct stat st;

	if (!stat(f->path, &st) && !S_ISREG(st.st_mode)) {
		/* A rename would take /dev/null away from all. */
		return S_ISDIR(st.st_mode) ? fail(f, EISDIR, "write it with a / at its end")
					   : fail(f, EEXIST, "a device, pipe or socket is there");
	}
	snprintf(f->part, sizeof(f->part), "%s" SUFFIX, f->path);
	f->fd = mkostemp(f->part, O_CLOEXEC);
	if (f->fd < 0) {
		int err = errno;

		f->part[0] = 0;
		return fail(f, err, "it cannot be written there");
	}
	/* That there is no room is better known now. Not every file system can tell. */
	if (f->plan->message->size &&
	    fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)f->plan->message->size) &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return fail(f, errno, "");
	return true;
}

static bool write_part(struct file *f)
{
	ssize_t n;

	while ((n = read_chunk(f->plan->bytes)) > 0) {
		if (!write_all(f->fd, (size_t)n))
			return fail(f, errno, "");
		sha256_update(&f->sum, (size_t)n, (const uint8_t *)chunk);
		f->done += (uint64_t)n;
	}
	return true;
}

static bool check_part(struct file *f)
{
	const struct message *m = f->plan->message;

	finish_sum(f);
	if (f->done != m->size)
		return fail(f, EPIPE, "not all of it has come");
	if (strcmp(f->report.sha256, m->sha256) != 0)
		return fail(f, EBADMSG, "what has come is not what was sent (SHA-256)");
	return true;
}

/*
 * The name is to outlive a crash as well. By now the file is in its place: where this cannot be had
 * it is no failure.
 */
static void sync_directory(const struct file *f)
{
	char copy[sizeof(f->path)];
	int fd;

	snprintf(copy, sizeof(copy), "%s", f->path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static bool place(struct file *f)
{
	const struct message *m = f->plan->message;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {.tv_sec = (time_t)(m->mtime_ns / 1000000000),
				     .tv_nsec = (long)(m->mtime_ns % 1000000000)}};

	if (fchmod(f->fd, m->mode) || (m->mtime_ns >= 0 && futimens(f->fd, times)) || fsync(f->fd))
		return fail(f, errno, "");
	if (close(f->fd)) {
		f->fd = -1;
		return fail(f, errno, "");
	}
	f->fd = -1;
	if (rename(f->part, f->path))
		return fail(f, errno, "");
	f->part[0] = 0;
	sync_directory(f);
	return true;
}

static void write_file(const void *plan)
{
	static struct file f;

	begin(&f, plan);
	umask(0);
	if (!make_part(&f) || !write_part(&f) || !check_part(&f) || !place(&f))
		f.report.sha256[0] = 0;
	if (f.part[0])
		unlink(f.part);
	report(&f);
}

pid_t file_write(const struct file_plan *plan)
{
	struct process_plan process = {
		.work = write_file, .plan = plan, .fds = {plan->control, plan->bytes, -1, -1}};

	return process_fork(&process);
}

/* ---- one that is sent ---- */

static bool open_file(struct file *f)
{
	struct stat st;

	/* A pipe without a writer would keep us here. */
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f->fd < 0 || fstat(f->fd, &st))
		return fail(f, errno, "");
	if (!S_ISREG(st.st_mode))
		return fail(f, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "it is no file");
	f->report.size = (uint64_t)st.st_size;
	f->report.mode = st.st_mode & 07777;
	f->report.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return true;
}

static bool send_file(struct file *f)
{
	ssize_t n;

	while ((n = read_chunk(f->fd)) > 0) {
		sha256_update(&f->sum, (size_t)n, (const uint8_t *)chunk);
		if (!write_all(f->plan->bytes, (size_t)n))
			return fail(f, errno, "");
	}
	return n < 0 ? fail(f, errno, "") : true;
}

static void read_file(const void *plan)
{
	static struct file f;
	bool is_open;

	begin(&f, plan);
	is_open = open_file(&f);
	report(&f);
	if (!is_open)
		return;
	if (send_file(&f))
		finish_sum(&f);
	report(&f);
}

pid_t file_read(const struct file_plan *plan)
{
	struct process_plan process = {
		.work = read_file, .plan = plan, .fds = {plan->control, plan->bytes, -1, -1}};

	return process_fork(&process);
}
