// SPDX-License-Identifier: BSD-3-Clause
/*
 * handshake: both sides by a munged of the test's own, and somebody between them who alters what
 * they say.
 */
#include "scheduler/proto/handshake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/munged.h"
#include "tests/harness/tap.h"

struct end {
	struct handshake hs;
	struct end *other;
	bool is_done, has_failed;
	int error;
	/* The field that is altered on the way to here, and its new value. */
	const char *field, *value;
};

struct pair {
	struct ev_loop *loop;
	struct munged munged;
	struct end listener, connector;
};

static void say(json_t *head, void *owner)
{
	struct end *to = ((struct end *)owner)->other;

	if (to->field && json_object_get(head, to->field))
		json_object_set_new(head, to->field, json_string(to->value));
	if (!to->is_done && !to->has_failed)
		handshake_hear(&to->hs, head);
	json_decref(head);
}

static void done(void *owner)
{
	((struct end *)owner)->is_done = true;
}

static void failed(int error, const char *why, void *owner)
{
	struct end *end = owner;

	end->has_failed = true;
	end->error = error;
	handshake_end(&end->hs);
}

static const struct handshake_events events = {.say = say, .done = done, .failed = failed};

static bool setup(struct pair *p)
{
	*p = (struct pair){0};
	if (!munged_start(&p->munged))
		return false;
	p->loop = ev_loop_new(EVFLAG_AUTO);
	p->listener.other = &p->connector;
	p->connector.other = &p->listener;
	for (int i = 0; i < 2; i++) {
		struct end *end = i ? &p->listener : &p->connector;

		end->hs = (struct handshake){.auth = auth_open(p->loop, p->munged.path),
					     .is_listener = i,
					     .expect = (uid_t)-1,
					     .job = 42,
					     .listener = "10.1.2.3:7710",
					     .peer = "somebody",
					     .events = &events,
					     .owner = end};
	}
	strcpy(p->connector.hs.role, "tool");
	return true;
}

/* Until nobody waits for munged any more. */
static void shake(struct pair *p)
{
	handshake_begin(&p->connector.hs);
	handshake_begin(&p->listener.hs);
	while (handshake_is_busy(&p->connector.hs) || handshake_is_busy(&p->listener.hs))
		ev_run(p->loop, EVRUN_ONCE);
}

static void teardown(struct pair *p)
{
	handshake_end(&p->listener.hs);
	handshake_end(&p->connector.hs);
	auth_close(p->listener.hs.auth);
	auth_close(p->connector.hs.auth);
	ev_loop_destroy(p->loop);
	munged_stop(&p->munged);
}

TAP_TEST(handshake__both_know_each_other_and_the_cipher)
{
	struct pair p;

	if (!setup(&p))
		return;
	shake(&p);
	ok(p.connector.is_done && p.listener.is_done);
	is_int(p.connector.hs.cipher, seal_cipher_best());
	is_int(p.listener.hs.cipher, seal_cipher_best());
	is_mem(p.listener.hs.their_key, p.connector.hs.keys.public, SEAL_KEY_BYTES);
	is_mem(p.connector.hs.their_key, p.listener.hs.keys.public, SEAL_KEY_BYTES);
	teardown(&p);
}

/* The listener has found another job in the preamble. */
TAP_TEST(handshake__another_job)
{
	struct pair p;

	if (!setup(&p))
		return;
	p.listener.hs.job = 43;
	shake(&p);
	ok(p.listener.has_failed && p.connector.has_failed);
	is_int(p.listener.error, EACCES);
	is_int(p.connector.error, EACCES);
	teardown(&p);
}

/* Of the two ciphers that both have the worse one, by the hello or by the welcome. */
TAP_TEST(handshake__nobody_chooses_the_cipher_for_them)
{
	struct pair p;

	if (seal_cipher_best() == SEAL_XCHACHA20) {
		tap_skip("this processor has one cipher");
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (!setup(&p))
			return;
		*(i ? &p.listener.field : &p.connector.field) = "cipher";
		*(i ? &p.listener.value : &p.connector.value) = seal_cipher_name(SEAL_XCHACHA20);
		shake(&p);
		ok(!p.connector.is_done);
		is_int(p.connector.error, EACCES);
		is_int(p.listener.is_done, !i);
		teardown(&p);
	}
}

TAP_TEST(handshake__a_cipher_that_is_none)
{
	struct pair p;

	for (int i = 0; i < 2; i++) {
		if (!setup(&p))
			return;
		*(i ? &p.listener.field : &p.connector.field) = "cipher";
		*(i ? &p.listener.value : &p.connector.value) = "none";
		shake(&p);
		ok(!p.connector.is_done);
		is_int((i ? &p.listener : &p.connector)->error, EPROTO);
		teardown(&p);
	}
}
