// SPDX-License-Identifier: BSD-3-Clause
/* munged - see munged.h. */
#include "tests/harness/munged.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define MUNGED "/usr/sbin/munged"

static void write_key(const char *dir)
{
	char path[128], key[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/key", dir);
	file = fopen(path, "w");
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (char)(i * 7 + 1);
	ok(file && fwrite(key, sizeof(key), 1, file) == 1);
	fclose(file);
	chmod(path, 0400);
}

static void run_munged(const char *dir)
{
	char option[5][160];
	static const char *const names[5] = {"socket", "key-file", "pid-file", "log-file",
					     "seed-file"};
	static const char *const files[5] = {"s", "key", "pid", "log", "seed"};
	char *argv[] = {(char *)(uintptr_t)MUNGED,
			(char *)(uintptr_t) "--foreground",
			(char *)(uintptr_t) "--force",
			option[0],
			option[1],
			option[2],
			option[3],
			option[4],
			NULL};

	for (int i = 0; i < 5; i++)
		snprintf(option[i], sizeof(option[i]), "--%s=%s/%s", names[i], dir, files[i]);
	/*
	 * It goes with a test that dies, whose output nobody else may keep open: prove waits for
	 * its end.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || !freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr))
		_exit(126);
	execv(MUNGED, argv);
	_exit(127);
}

/* It says nothing when it is up: its socket tells. */
static bool is_up(const char *path)
{
	struct stat st;

	for (int i = 0; i < 1000; i++) {
		if (!stat(path, &st) && S_ISSOCK(st.st_mode))
			return true;
		usleep(5000);
	}
	return false;
}

bool munged_start(struct munged *munged)
{
	if (access(MUNGED, X_OK)) {
		tap_skip("%s is not there (install munge)", MUNGED);
		return false;
	}
	snprintf(munged->dir, sizeof(munged->dir), "/tmp/munged-test-XXXXXX");
	if (!ok(mkdtemp(munged->dir) != NULL))
		return false;
	chmod(munged->dir, 0755);
	write_key(munged->dir);
	snprintf(munged->path, sizeof(munged->path), "%s/s", munged->dir);
	munged->pid = fork();
	if (!munged->pid)
		run_munged(munged->dir);
	return ok(is_up(munged->path));
}

void munged_kill(struct munged *munged)
{
	if (munged->pid <= 0)
		return;
	kill(munged->pid, SIGKILL);
	waitpid(munged->pid, NULL, 0);
	munged->pid = 0;
}

void munged_stop(struct munged *munged)
{
	static const char *const files[] = {"s", "s.lock", "key", "pid", "log", "seed"};
	char path[128];

	munged_kill(munged);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", munged->dir, files[i]);
		unlink(path);
	}
	rmdir(munged->dir);
}
