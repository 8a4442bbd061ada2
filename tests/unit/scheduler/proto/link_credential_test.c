// SPDX-License-Identifier: BSD-3-Clause
/*
 * link and handshake: credentials that hold under munge, but were made for another connection,
 * place or reader.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "tests/harness/tap.h"
#include "tests/unit/scheduler/proto/link_world.h"

#define CIPHER "xchacha20poly1305"
/* Of nobody, but a key by its form. */
#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Reads what the accepting side says first, answers with @credential, and looks how that ends. */
static void answer_with(struct world *world, int fd, const char *credential, const char *says)
{
	json_t *head = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "op", "hello", "nonce",
				 "00112233445566778899aabbccddeeff", "role", "tool", "key", KEY,
				 "cipher", CIPHER, "credential", credential);
	unsigned int before = world->server.n_closed;
	size_t size = 0;
	char *bytes = frame_encode(head, 0, &size), got[4096] = "";
	ssize_t n;

	is_int(send(fd, bytes, size, 0), size);
	free(bytes);
	json_decref(head);
	world->server.break_at = "closed";
	world_run(world);
	is_int(world->server.n_closed, before + 1);
	is_int(world->server.error, EACCES);
	okf(strstr(world->server.why, says) != NULL, "%s", world->server.why);
	n = recv(fd, got, sizeof(got) - 1, MSG_WAITALL);
	ok(n > 0 && memmem(got, (size_t)n, "refused", 7) &&
	   memmem(got, (size_t)n, says, strlen(says)));
	close(fd);
}

static void on_made(const struct auth_answer *answer, void *owner)
{
	snprintf(owner, 2048, "%s", answer->error ? answer->why : answer->text);
}

static void make(struct world *world, char credential[2048], const char *payload, uid_t reader)
{
	credential[0] = '\0';
	ok(auth_make(world->auth, payload, reader, on_made, credential) != NULL);
	while (!credential[0])
		ev_run(world->loop, EVRUN_ONCE);
}

TAP_TEST(link_accept__credentials_that_are_worth_nothing_here)
{
	char credential[2048];
	struct world world;

	if (!world_setup(&world))
		return;
	answer_with(&world, world_greeted_stranger(&world), "MUNGE:no:", "munge refuses");
	make(&world, credential, "connect tool 0 00 11 127.0.0.1:1", (uid_t)-1);
	answer_with(&world, world_greeted_stranger(&world), credential, "another connection");
	answer_with(&world, world_greeted_stranger(&world), credential, "replayed");
	make(&world, credential, "connect tool 0 00 11 127.0.0.1:1", NOBODY);
	if (geteuid())
		answer_with(&world, world_greeted_stranger(&world), credential, "unauthorized");
	world_teardown(&world);
}

/* A credential for this very connection, but for another address: what a man in the middle has. */
TAP_TEST(link_accept__credential_for_another_address)
{
	char hello[1024], credential[2048], payload[512];
	struct world world;
	struct frame frame;
	size_t used;
	int fd;

	if (!world_setup(&world))
		return;
	fd = world_greeted_stranger(&world);
	must(frame_decode(&frame, hello, (size_t)recv(fd, hello, sizeof(hello), 0), FRAME_MAX,
			  &used) == 1);
	snprintf(payload, sizeof(payload),
		 "connect tool 0 %s 00112233445566778899aabbccddeeff " KEY " " CIPHER
		 " 10.1.2.3:7710",
		 json_string_value(json_object_get(frame.head, "nonce")));
	json_decref(frame.head);
	make(&world, credential, payload, (uid_t)-1);
	answer_with(&world, fd, credential, "10.1.2.3:7710");
	world_teardown(&world);
}

static void on_welcome_read(const struct auth_answer *answer, void *owner)
{
	snprintf(owner, 512, "%s", answer->error ? answer->why : answer->text);
}

/* A hello as @uid with a key that may be somebody else's, by a process of that user. */
static void make_as(const struct world *world, uid_t uid, const char *payload, char to[2048])
{
	int pipes[2];
	pid_t pid;

	must(!pipe(pipes));
	pid = fork();
	if (!pid) {
		struct world other = {.loop = ev_loop_new(EVFLAG_AUTO)};
		char credential[2048];

		if (setgid(uid) || setuid(uid))
			_exit(1);
		other.auth = auth_open(other.loop, world->munged.path);
		make(&other, credential, payload, (uid_t)-1);
		_exit(write(pipes[1], credential, sizeof(credential)) !=
		      (ssize_t)sizeof(credential));
	}
	is_int(read(pipes[0], to, 2048), 2048);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
}

/*
 * Somebody between us and the listener gives our key and our nonce as his own. The welcome is for
 * him, so we can't read it: else we would take for ours a connection that the listener takes for
 * his.
 */
TAP_TEST(link_accept__welcomes_only_who_connects)
{
	static const char *const nonce = "00112233445566778899aabbccddeeff";
	char bytes[4096], credential[2048], payload[512], read[512] = "";
	struct world world;
	struct frame frame;
	size_t size, used;
	json_t *head;
	char *hello;
	int fd;

	if (geteuid()) {
		tap_skip("needs root, to be somebody else as well");
		return;
	}
	if (!world_setup(&world))
		return;
	fd = world_greeted_stranger(&world);
	must(frame_decode(&frame, bytes, (size_t)recv(fd, bytes, sizeof(bytes), 0), FRAME_MAX,
			  &used) == 1);
	snprintf(payload, sizeof(payload), "connect tool 0 %s %s " KEY " " CIPHER " %s",
		 json_string_value(json_object_get(frame.head, "nonce")), nonce, world.address);
	json_decref(frame.head);
	make_as(&world, NOBODY, payload, credential);
	head = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "op", "hello", "nonce", nonce, "role",
			 "tool", "key", KEY, "cipher", CIPHER, "credential", credential);
	hello = frame_encode(head, 0, &size);
	json_decref(head);
	is_int(send(fd, hello, size, 0), size);
	free(hello);
	world.server.break_at = "ready";
	world_run(&world);
	is_int(world.server.uid, NOBODY);
	must(frame_decode(&frame, bytes, (size_t)recv(fd, bytes, sizeof(bytes), 0), FRAME_MAX,
			  &used) == 1);
	is_str(json_string_value(json_object_get(frame.head, "op")), "welcome");
	must(auth_read(world.auth, json_string_value(json_object_get(frame.head, "credential")),
		       NULL, on_welcome_read, read));
	while (!*read)
		ev_run(world.loop, EVRUN_ONCE);
	json_decref(frame.head);
	okf(strstr(read, "unauthorized") != NULL, "%s", read);
	close(fd);
	world_teardown(&world);
}
