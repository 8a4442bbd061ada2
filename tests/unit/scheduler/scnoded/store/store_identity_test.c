// SPDX-License-Identifier: BSD-3-Clause
/* store_identity: the name of a directory of checkpoints, also for many hosts at the same time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/scnoded/store/stored.h"

#define HOSTS 8
#define ROUNDS 50

static void put(const char *text)
{
	int fd = open(stored_path("identity"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0);
	is_int(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

TAP_TEST(store_identity__is_drawn_once)
{
	char first[STORE_IDENTITY_SIZE], second[STORE_IDENTITY_SIZE], other[STORE_IDENTITY_SIZE];
	struct stat st;

	stored_begin();
	is_int(store_identity(stored, "h0", first), 0);
	is_int(strlen(first), STORE_IDENTITY_SIZE - 1);
	ok(!stat(stored, &st) && (st.st_mode & 07777) == 0700);
	is_int(store_identity(stored, "h1", second), 0);
	is_str(second, first);
	ok(!stored_has("identity.h0"));
	stored_end();
	stored_begin();
	is_int(store_identity(stored, "h0", other), 0);
	ok(strcmp(other, first) != 0);
	stored_end();
}

TAP_TEST(store_identity__what_cannot_be)
{
	static const char *const wrong[] = {"", "abc", "0123456789abcdef0123456789abcdeg",
					    "0123456789abcdef0123456789abcdef0", "\n"};
	char identity[STORE_IDENTITY_SIZE], missing[96];

	stored_begin();
	snprintf(missing, sizeof(missing), "%s/a/b", stored_base);
	is_int(store_identity(missing, "h0", identity), -ENOENT);
	must(!mkdir(stored, 0700));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put(wrong[i]);
		is_int(store_identity(stored, "h0", identity), -EBADMSG);
	}
	ok(!unlink(stored_path("identity")) && !mkfifo(stored_path("identity"), 0600));
	is_int(store_identity(stored, "h0", identity), -EBADF);
	ok(!chmod(stored, 0755));
	is_int(store_identity(stored, "h0", identity), -EPERM);
	stored_end();
}

/* Its file that is half made is in nobody's way. */
TAP_TEST(store_identity__of_a_host_that_was_killed)
{
	char identity[STORE_IDENTITY_SIZE];

	stored_begin();
	must(!mkdir(stored, 0700));
	put("0123");
	ok(!rename(stored_path("identity"), stored_path("identity.h0")));
	is_int(store_identity(stored, "h0", identity), 0);
	ok(!stored_has("identity.h0"));
	stored_end();
}

/* Each of several processes, as scnodeds of hosts, writes what it was told. */
static void ask(int to, const char *host)
{
	char identity[STORE_IDENTITY_SIZE] = "";

	if (store_identity(stored, host, identity))
		memset(identity, '?', sizeof(identity));
	_exit(write(to, identity, sizeof(identity)) != sizeof(identity));
}

TAP_TEST(store_identity__many_hosts_at_once)
{
	char first[STORE_IDENTITY_SIZE], each[STORE_IDENTITY_SIZE], host[8];
	int pipes[2], status;

	for (int round = 0; round < ROUNDS; round++) {
		stored_begin();
		must(!pipe(pipes));
		for (int h = 0; h < HOSTS; h++) {
			snprintf(host, sizeof(host), "h%d", h);
			if (!fork())
				ask(pipes[1], host);
		}
		for (int h = 0; h < HOSTS; h++) {
			is_int(read(pipes[0], each, sizeof(each)), sizeof(each));
			memcpy(first, h ? first : each, sizeof(first));
			is_str(each, first);
			wait(&status);
			is_int(status, 0);
		}
		is_int(strlen(first), STORE_IDENTITY_SIZE - 1);
		close(pipes[0]);
		close(pipes[1]);
		stored_end();
	}
}
