// SPDX-License-Identifier: BSD-3-Clause
/*
 * auth - see auth.h. One thread asks munged one question after the other; what is under the lock is
 * said at struct auth. The loop learns of answers by an ev_async, which keeps the loop alive only
 * while there are questions.
 */
#include <errno.h>
#include <munge.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/fairqueue.h"

#define WHY_MAX 512
#define KNOWN 4096u
/* A daemon that locks its memory has all of it, and copies its page tables whenever it forks. */
#define STACK_BYTES (256 << 10)
#define MUNGED_DEFAULT "/run/munge/munge.socket.2" /* when libmunge does not tell */

/* Read and written by the loop only, but for what the thread fills in while is_running. */
struct auth_task {
	struct auth_task *next;
	struct fairqueue_item item; /* of a stranger's that waits; under the lock */
	struct netaddr_net from;    /* of a stranger's */
	bool is_stranger;
	struct auth *auth;
	auth_done *done; /* NULL = forgotten */
	void *owner;
	bool is_reading;
	bool is_forgotten; /* under the lock: the thread need not ask */
	uid_t reader;
	char *text; /* the question */
	struct auth_answer answer;
	char *answer_text;
	char why[WHY_MAX];
};

struct queue {
	struct auth_task *first, **last;
};

struct auth {
	struct ev_loop *loop;
	ev_async woken;
	size_t n_asked; /* tasks that are not back yet */
	bool *was_closed;
	char *socket_path;         /* NULL = munge's default */
	struct netaddr_net *known; /* KNOWN places, each of the last whose hash leads there */
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t has_work;
	struct queue todo, done;
	struct fairqueue unknown; /* to do after todo */
	bool is_asking;
	bool is_ending;
	bool is_left; /* to the thread: it frees all this when munge lets it go */
};

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_push(struct queue *queue, struct auth_task *task)
{
	task->next = NULL;
	*queue->last = task;
	queue->last = &task->next;
}

static struct auth_task *queue_pop(struct queue *queue)
{
	struct auth_task *task = queue->first;

	if (task) {
		queue->first = task->next;
		if (!queue->first)
			queue->last = &queue->first;
	}
	return task;
}

static void task_free(struct auth_task *task)
{
	free(task->text);
	free(task->answer_text);
	free(task);
}

static void queue_free(struct queue *queue)
{
	struct auth_task *task;

	while ((task = queue_pop(queue)) != NULL)
		task_free(task);
}

static struct auth_task *next_stranger(struct auth *auth)
{
	struct fairqueue_item *item = fairqueue_take(&auth->unknown);

	return item ? item->owner : NULL;
}

static void auth_free(struct auth *auth)
{
	struct auth_task *task;

	while ((task = next_stranger(auth)) != NULL)
		task_free(task);
	queue_free(&auth->todo);
	queue_free(&auth->done);
	pthread_cond_destroy(&auth->has_work);
	pthread_mutex_destroy(&auth->lock);
	free(auth->known);
	free(auth->socket_path);
	free(auth);
}

/*
 * --- in the thread ------------------------------------------------------------------------------
 */

static void say_time(char *to, size_t size, munge_ctx_t ctx, munge_opt_t which)
{
	time_t when = 0;
	struct tm tm;

	if (munge_ctx_get(ctx, which, &when) != EMUNGE_SUCCESS || !localtime_r(&when, &tm) ||
	    !strftime(to, size, "%F %T", &tm))
		snprintf(to, size, "an unknown time");
}

/* Puts into task->why what munge's @err means, for a person. Returns the answer's errno. */
static int explain(struct auth_task *task, munge_ctx_t ctx, munge_err_t err)
{
	const char *more = munge_ctx_strerror(ctx), *socket_path = task->auth->socket_path;
	char made[64], read[64], *why = task->why;

	switch (err) {
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
		if (!socket_path && munge_ctx_get(ctx, MUNGE_OPT_SOCKET, &socket_path) != 0)
			socket_path = MUNGED_DEFAULT;
		snprintf(why, WHY_MAX,
			 "munged does not answer at %s (%s): start it, or name its socket",
			 socket_path, more ? more : munge_strerror(err));
		return EAGAIN;
	case EMUNGE_NO_MEMORY:
		snprintf(why, WHY_MAX, "no memory for a credential");
		return ENOMEM;
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REWOUND:
		say_time(made, sizeof(made), ctx, MUNGE_OPT_ENCODE_TIME);
		say_time(read, sizeof(read), ctx, MUNGE_OPT_DECODE_TIME);
		snprintf(why, WHY_MAX,
			 "the clocks of the two hosts differ: the credential was made at %s by the "
			 "other "
			 "host's clock, and %s is it by this one's (munge: %s); set both clocks",
			 made, read, err == EMUNGE_CRED_EXPIRED ? "expired" : "rewound");
		return EACCES;
	case EMUNGE_CRED_REPLAYED:
		snprintf(why, WHY_MAX,
			 "the credential was used before (munge: replayed): somebody repeats an "
			 "old one");
		return EACCES;
	case EMUNGE_CRED_UNAUTHORIZED:
		snprintf(why, WHY_MAX,
			 "the credential was made for another user than %u, who reads it (munge: "
			 "unauthorized)",
			 (unsigned int)geteuid());
		return EACCES;
	default:
		snprintf(why, WHY_MAX,
			 "munge refuses the credential: %s; have both hosts the same munge key?",
			 more ? more : munge_strerror(err));
		return EACCES;
	}
}

static munge_err_t ask_to_read(struct auth_task *task, munge_ctx_t ctx)
{
	void *payload = NULL;
	int size = 0;
	munge_err_t err = munge_decode(task->text, ctx, &payload, &size, &task->answer.uid,
				       &task->answer.gid);

	if (err == EMUNGE_SUCCESS) {
		task->answer_text = payload ? payload : strdup("");
		return task->answer_text ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
	}
	free(payload);
	return err;
}

static munge_err_t ask_to_make(struct auth_task *task, munge_ctx_t ctx)
{
	munge_err_t err = EMUNGE_SUCCESS;

	if (task->reader != (uid_t)-1)
		err = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, task->reader);
	if (err == EMUNGE_SUCCESS)
		err = munge_encode(&task->answer_text, ctx, task->text, (int)strlen(task->text));
	return err;
}

static void ask(struct auth_task *task)
{
	const char *socket_path = task->auth->socket_path;
	munge_ctx_t ctx = munge_ctx_create();
	munge_err_t err = EMUNGE_SUCCESS;

	if (!ctx) {
		snprintf(task->why, WHY_MAX, "no memory for a credential");
		task->answer.error = ENOMEM;
		return;
	}
	if (socket_path)
		err = munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket_path);
	if (err == EMUNGE_SUCCESS)
		err = task->is_reading ? ask_to_read(task, ctx) : ask_to_make(task, ctx);
	task->answer.error = err == EMUNGE_SUCCESS ? 0 : explain(task, ctx, err);
	munge_ctx_destroy(ctx);
}

static void *run(void *arg)
{
	struct auth *auth = arg;
	struct auth_task *task;
	bool is_forgotten, is_left;

	pthread_mutex_lock(&auth->lock);
	while (!auth->is_ending) {
		task = queue_pop(&auth->todo);
		if (!task)
			task = next_stranger(auth);
		if (!task) {
			pthread_cond_wait(&auth->has_work, &auth->lock);
			continue;
		}
		is_forgotten = task->is_forgotten;
		auth->is_asking = !is_forgotten;
		pthread_mutex_unlock(&auth->lock);
		if (!is_forgotten)
			ask(task);
		pthread_mutex_lock(&auth->lock);
		auth->is_asking = false;
		queue_push(&auth->done, task);
		if (!auth->is_left)
			ev_async_send(auth->loop, &auth->woken);
	}
	is_left = auth->is_left;
	pthread_mutex_unlock(&auth->lock);
	if (is_left)
		auth_free(auth);
	return NULL;
}

/*
 * --- in the loop --------------------------------------------------------------------------------
 */

/* FNV-1a. Only a credential that holds writes there. */
static struct netaddr_net *place_of(const struct auth *auth, const struct netaddr_net *net)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < sizeof(net->bytes); i++)
		hash = (hash ^ net->bytes[i]) * 16777619u;
	return &auth->known[hash % KNOWN];
}

bool auth_knows(const struct auth *auth, const struct netaddr_net *from)
{
	static const struct netaddr_net nowhere;

	return memcmp(from, &nowhere, sizeof(nowhere)) != 0 &&
	       !memcmp(place_of(auth, from), from, sizeof(*from));
}

static struct auth_task *next_answer(struct auth *auth)
{
	struct auth_task *task;

	pthread_mutex_lock(&auth->lock);
	task = queue_pop(&auth->done);
	pthread_mutex_unlock(&auth->lock);
	return task;
}

static void on_woken(struct ev_loop *loop, ev_async *watcher, int events)
{
	struct auth *auth = watcher->data;
	struct auth_task *task;
	bool was_closed = false;

	auth->was_closed = &was_closed;
	while ((task = next_answer(auth)) != NULL) {
		if (--auth->n_asked == 0)
			ev_unref(loop);
		if (task->is_stranger && !task->answer.error && task->answer_text)
			*place_of(auth, &task->from) = task->from;
		task->answer.text = task->answer_text;
		task->answer.why = task->why;
		if (task->done)
			task->done(&task->answer, task->owner);
		task_free(task);
		if (was_closed)
			return;
	}
	auth->was_closed = NULL;
}

/* The thread takes no signal: they are the loop's. */
static int start(struct auth *auth)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&auth->thread, &attr, run, auth);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

struct auth *auth_open(struct ev_loop *loop, const char *socket_path)
{
	struct auth *auth = calloc(1, sizeof(*auth));

	if (!auth)
		return NULL;
	if (!socket_path)
		socket_path = secure_getenv("MUNGE_SOCKET");
	if (socket_path) {
		auth->socket_path = strdup(socket_path);
		if (!auth->socket_path)
			goto no_path;
	}
	auth->loop = loop;
	auth->known = calloc(KNOWN, sizeof(*auth->known));
	if (!auth->known)
		goto no_known;
	queue_init(&auth->todo);
	queue_init(&auth->done);
	fairqueue_init(&auth->unknown);
	pthread_mutex_init(&auth->lock, NULL);
	pthread_cond_init(&auth->has_work, NULL);
	ev_async_init(&auth->woken, on_woken);
	auth->woken.data = auth;
	ev_async_start(loop, &auth->woken);
	ev_unref(loop);
	if (!start(auth))
		return auth;
	ev_ref(loop);
	ev_async_stop(loop, &auth->woken);
	pthread_cond_destroy(&auth->has_work);
	pthread_mutex_destroy(&auth->lock);
	free(auth->known);
no_known:
	free(auth->socket_path);
no_path:
	free(auth);
	return NULL;
}

/* A munged that is stopped holds the thread for many seconds: nobody waits for it. */
void auth_close(struct auth *auth)
{
	pthread_t thread;
	bool is_left;

	if (!auth)
		return;
	thread = auth->thread;
	if (auth->was_closed)
		*auth->was_closed = true;
	pthread_mutex_lock(&auth->lock);
	if (!auth->n_asked)
		ev_ref(auth->loop);
	ev_async_stop(auth->loop, &auth->woken);
	auth->is_ending = true;
	is_left = auth->is_left = auth->is_asking;
	pthread_cond_signal(&auth->has_work);
	pthread_mutex_unlock(&auth->lock);
	if (is_left) {
		pthread_detach(thread);
		return;
	}
	pthread_join(thread, NULL);
	auth_free(auth);
}

static struct auth_task *new_task(struct auth *auth, const char *text, auth_done *done, void *owner)
{
	struct auth_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	*task = (struct auth_task){.auth = auth,
				   .done = done,
				   .owner = owner,
				   .reader = (uid_t)-1,
				   .text = strdup(text)};
	if (!task->text) {
		free(task);
		return NULL;
	}
	task->item.owner = task;
	return task;
}

/* Takes the task. NULL: no memory. */
static struct auth_task *put(struct auth_task *task)
{
	struct auth *auth = task->auth;
	bool is_known = task->is_stranger && auth_knows(auth, &task->from);
	int err = 0;

	pthread_mutex_lock(&auth->lock);
	if (task->is_stranger)
		err = fairqueue_add(&auth->unknown, &task->item, task->from, is_known);
	else
		queue_push(&auth->todo, task);
	pthread_cond_signal(&auth->has_work);
	pthread_mutex_unlock(&auth->lock);
	if (err) {
		task_free(task);
		return NULL;
	}
	if (auth->n_asked++ == 0)
		ev_ref(auth->loop);
	return task;
}

struct auth_task *auth_make(struct auth *auth, const char *payload, uid_t reader, auth_done *done,
			    void *owner)
{
	struct auth_task *task = new_task(auth, payload, done, owner);

	if (!task)
		return NULL;
	task->reader = reader;
	return put(task);
}

struct auth_task *auth_read(struct auth *auth, const char *credential,
			    const struct netaddr_net *from, auth_done *done, void *owner)
{
	struct auth_task *task = new_task(auth, credential, done, owner);

	if (!task)
		return NULL;
	task->is_reading = true;
	if (from) {
		task->is_stranger = true;
		task->from = *from;
	}
	return put(task);
}

void auth_forget(struct auth_task *task)
{
	struct auth *auth = task->auth;

	task->done = NULL;
	pthread_mutex_lock(&auth->lock);
	task->is_forgotten = true;
	/* Its turn may never come. */
	if (task->item.net) {
		fairqueue_remove(&auth->unknown, &task->item);
		queue_push(&auth->done, task);
		ev_async_send(auth->loop, &auth->woken);
	}
	pthread_mutex_unlock(&auth->lock);
}

int auth_nonce(char to[AUTH_NONCE_HEX])
{
	unsigned char bytes[AUTH_NONCE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}
