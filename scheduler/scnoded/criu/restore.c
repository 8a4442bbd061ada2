// SPDX-License-Identifier: BSD-3-Clause
/* The helper sends a reason and one zero byte, by which a text is known to be whole; "" is good. */
#include "scheduler/scnoded/criu/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/daemon.h"
#include "scheduler/scnoded/criu/numbers.h"
#include "scheduler/scnoded/criu/pack.h"
#include "scheduler/scnoded/criu/ports.h"
#include "scheduler/scnoded/criu/program.h"

#define SAID "restore.said" /* what CRIU says without its log */
#define CRIU_VARIABLE "OPENSCORE_CRIU"
#define CURSOR "/proc/sys/kernel/ns_last_pid"
#define IMAGES_FD 3
#define TOLD_FD 4

/* As execve() wants them: not constant. */
static char search[] = PROGRAM_PATH;

char *restore_prepare(struct restore *ret, const struct restore_order *order)
{
	pid_t number = numbers_read(order->images);

	if (!number)
		return daemon_text("host %s: job %llu can't be restored: its image is not whole; "
				   "take an older one",
				   order->host, (unsigned long long)order->job);
	snprintf(ret->program, sizeof(ret->program), CRIU_VARIABLE "=%s", order->criu->program);
	ret->argv[0] = RESTORE_NAME;
	ret->argv[1] = NULL;
	ret->env[0] = search;
	ret->env[1] = ret->program;
	ret->env[2] = NULL;
	ret->helper = (struct init_helper){
		.number = number, .argv = ret->argv, .env = ret->env, .given = order->images};
	snprintf(ret->helper.word, sizeof(ret->helper.word), "%d", number);
	return NULL;
}

/* ---- the helper ---- */

/* The next process of this namespace gets the number behind @pid. 0 or -errno. */
static int set_cursor(pid_t pid)
{
	int fd = open(CURSOR, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = dprintf(fd, "%d", pid) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* NULL, or the reason. */
static char *run_criu(void)
{
	static const char *const argv[] = {"criu",
					   "restore",
					   "--images-dir",
					   "/proc/self/fd/3",
					   "--restore-detached",
					   "--tcp-established",
					   "--file-locks",
					   "--manage-cgroups=ignore",
					   "-v2",
					   "--log-file",
					   RESTORE_LOG,
					   NULL};
	char *const env[] = {search, NULL};
	int said = openat(IMAGES_FD, SAID, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
	struct program program = {.path = getenv(CRIU_VARIABLE),
				  .argv = argv,
				  .env = env,
				  .files = {-1, said, said, IMAGES_FD},
				  .n_files = IMAGES_FD + 1};
	char why[COMPLAINT_MAX], end[128];

	if (said < 0 || !program.path)
		return daemon_text("no log of CRIU: %m");
	status = program_run(&program);
	if (!status)
		return NULL;
	complaint_read(IMAGES_FD, RESTORE_LOG, why);
	if (!*why)
		complaint_read(IMAGES_FD, SAID, why);
	return daemon_text("CRIU %s: %s", program_end(status, end, sizeof(end)),
			   *why ? why : "it gives no reason");
}

static char *restore(void)
{
	char taken[PORTS_TEXT_MAX], *why;
	int err;

	/* A reason of an earlier restore is none of this one. */
	unlinkat(IMAGES_FD, RESTORE_LOG, 0);
	/* The job's numbers must be free, number 2 first of all. */
	err = set_cursor(getpid());
	if (err)
		return daemon_text(CURSOR ": %s", strerror(-err));
	err = ports_free(IMAGES_FD, taken);
	if (err)
		return daemon_text("the job's TCP addresses are not known: %s", strerror(-err));
	if (*taken)
		return daemon_text("another program listens at %s, as the job does", taken);
	why = pack_restore(IMAGES_FD);
	return why ? why : run_criu();
}

int restore_main(void)
{
	char text[RESTORE_TEXT_MAX] = "", *why = restore();

	if (why)
		snprintf(text, sizeof(text), "%s", why);
	else
		/* Later processes of the job get small numbers again. */
		set_cursor(INIT_CHILD);
	free(why);
	/* A daemon that has ended meanwhile does not read it. */
	if (write(TOLD_FD, text, strlen(text) + 1) < 0)
		errno = 0;
	/* All but process 1, which ends when it has no child left. */
	if (*text)
		kill(-1, SIGKILL);
	return *text ? 1 : 0;
}

/* ---- scnoded ---- */

int restore_hear(struct restore_answer *answer, int fd)
{
	ssize_t n = read(fd, answer->text + answer->n, sizeof(answer->text) - answer->n);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	answer->n += (size_t)n;
	return n > 0 && answer->text[answer->n - 1];
}

char *restore_judge(const struct restore_answer *answer, const struct restore_order *order)
{
	if (!answer->n || answer->text[answer->n - 1])
		return daemon_text("host %s: job %llu can't be restored: the process " RESTORE_NAME
				   " has ended before; see whether that host is short of memory "
				   "(dmesg tells), then try again",
				   order->host, (unsigned long long)order->job);
	if (!*answer->text)
		return NULL;
	return daemon_text("host %s: job %llu can't be restored: %s; see " RESTORE_LOG
			   " beside the image, or take another host or image",
			   order->host, (unsigned long long)order->job, answer->text);
}
