// SPDX-License-Identifier: BSD-3-Clause
/*
 * tar passes over sockets: CRIU binds them again, with owner and mode. File systems that
 * a user has mounted on top hold no files of the job.
 */
#include "scheduler/scnoded/criu/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/criu/complaint.h"
#include "scheduler/scnoded/criu/numbers.h"
#include "scheduler/scnoded/criu/ports.h"
#include "scheduler/scnoded/criu/program.h"

#define FILES "files.tar"
#define SAID_MAX 4096

/* As execve() wants it: not constant. */
static char search[] = PROGRAM_PATH;

/* CRIU shows what is said here in its log, in the place of errors of its own. */
static int fail(const char *what, int error)
{
	fprintf(stderr, "Error (" PACK_NAME "): %s: %s\n", what, strerror(error));
	return 1;
}

int pack_main(void)
{
	char *const env[] = {search, NULL};
	const char *tmp = getenv(PACK_TMP);
	const char *const argv[] = {"tar",
				    "--create",
				    "--sparse",
				    "--one-file-system",
				    "--numeric-owner",
				    "--acls",
				    "--xattrs",
				    "--warning=no-file-ignored",
				    "--file=-",
				    "--directory=/",
				    "--",
				    "dev/shm",
				    tmp ? tmp + 1 : NULL,
				    NULL};
	struct program program = {.path = "tar", .argv = argv, .env = env, .n_files = 3};
	const char *when = getenv("CRTOOLS_SCRIPT_ACTION"), *images = getenv("CRTOOLS_IMAGE_DIR");
	int dir, fd, err;

	/* CRIU calls it at some other times, too. */
	if (!when || strcmp(when, "post-dump"))
		return 0;
	dir = open(images ? images : "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || !tmp)
		return fail("directory of the images", dir < 0 ? errno : EINVAL);
	err = numbers_write(dir);
	if (err)
		return fail("free numbers of processes", -err);
	err = ports_write(dir);
	if (err)
		return fail("addresses of TCP", -err);
	fd = openat(dir, FILES, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(FILES, errno);
	program.files[0] = -1;
	program.files[1] = fd;
	program.files[2] = STDERR_FILENO;
	program_exec(&program);
}

char *pack_restore(int dir)
{
	char *const env[] = {search, NULL};
	const char *const argv[] = {
		"tar",    "--extract", "--same-owner", "--preserve-permissions", "--numeric-owner",
		"--acls", "--xattrs",  "--file=-",     "--directory=/",          NULL};
	struct program program = {.path = "tar", .argv = argv, .env = env, .n_files = 3};
	char said[SAID_MAX], why[COMPLAINT_MAX], end[128];
	int fd = openat(dir, FILES, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), status;

	if (fd < 0)
		return daemon_text(FILES " can't be opened: %m");
	program.files[0] = fd;
	status = program_ask(&program, said, sizeof(said));
	close(fd);
	if (!status)
		return NULL;
	complaint_find(said, why);
	return daemon_text("tar, which unpacks " FILES ", %s: %s",
			   program_end(status, end, sizeof(end)), why);
}
