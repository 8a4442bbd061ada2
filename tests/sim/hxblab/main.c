// SPDX-License-Identifier: BSD-3-Clause
/*
 * hxblab - a pattern of hxbsim on a real network: one process per host under mpirun, the same
 * options, and the figures that both can tell. All rounds are begun at once. Node 0 prints one JSON
 * object. Its judge is tests/sim/agree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcore/tools/common/boot.h"
#include "pmcore/tools/common/json.h"
#include "pmcore/tools/common/message.h"
#include "pmcore/tools/common/session.h"
#include "pmcore/tools/common/wait.h"
#include "pmcore/util/clock.h"
#include "tests/sim/hxbsim/pattern.h"

enum kind { DATA, HANDLE, READY, START, RESULT, END };

/* Head of every message. */
struct head {
	uint64_t kind;
	uint64_t number; /* DATA: of those to this node */
};

struct handle {
	struct head head;
	pmHandle handle;
};

#define PARTS 64 /* of what a node expects: when it had each is known */

/*
 * A node's result, sent to node 0. Times are those of the machine's clock, which all hosts share.
 */
struct result {
	struct head head;
	uint64_t begin_ns, last_ns, got; /* got: bytes */
	uint64_t had_ns[PARTS];          /* when the first (i + 1) / PARTS of them had come */
};

struct partner {
	uint32_t node;
	uint64_t sent, came;  /* messages */
	uint64_t begun, done; /* reads */
	bool has_handle;
	pmHandle handle;
	pmDesc desc; /* of the read under way */
};

struct lab {
	struct settings settings;
	struct session session;
	struct pattern_plan plan;
	struct partner *targets, *sources;
	uint32_t n_targets, n_sources;
	struct result own, *all;
	uint32_t n_results;
	uint64_t expected; /* bytes */
	uint32_t n_had;    /* parts of them */
	uint32_t n_ready;  /* nodes that know whom they deal with */
	uint32_t n_told;   /* by node 0, of what it tells all */
	bool is_ready, has_begun, has_told, is_over;
	uint8_t *source, *sink;
};

/*
 * Hosts of a lab are numbered with the last coordinate running fastest, those of hxbnet with the
 * first.
 */
static uint32_t renumber(const struct hxbnet_config *net, uint32_t from, bool is_lab)
{
	uint32_t at[ETH_DIMS], n = 0, i, d;

	for (i = 0; i < net->n_dims; i++) {
		d = is_lab ? net->n_dims - 1 - i : i;
		at[d] = from % net->dims[d];
		from /= net->dims[d];
	}
	for (i = 0; i < net->n_dims; i++) {
		d = is_lab ? net->n_dims - 1 - i : i;
		n = n * net->dims[d] + at[d];
	}
	return n;
}

static struct partner *
list(struct lab *lab, uint32_t (*of)(const struct pattern_plan *, uint32_t, uint32_t, uint32_t *),
     uint32_t *ret_n)
{
	const struct hxbnet_config *net = &lab->settings.net;
	uint32_t self = renumber(net, lab->session.self, true), hosts = lab->plan.hosts;
	uint32_t *found = calloc(hosts, sizeof(*found)), round, n, i;
	struct partner *partners = calloc((size_t)hosts * lab->plan.rounds, sizeof(*partners));

	*ret_n = 0;
	for (round = 0; found && partners && round < lab->plan.rounds; round++) {
		n = of(&lab->plan, self, round, found);
		for (i = 0; i < n; i++)
			partners[(*ret_n)++].node = renumber(net, found[i], false);
	}
	free(found);
	return partners;
}

static struct partner *partner_of(struct partner *partners, uint32_t n, uint32_t node)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (partners[i].node == node)
			return &partners[i];
	return NULL;
}

/* 1: it is sent, 0: not now, or -errno. */
static int post(struct lab *lab, uint32_t node, const void *message, size_t len, size_t room)
{
	pmDesc desc;
	void *buf;
	int err = pmGetSendBuffer(lab->session.ctx, node, room, &buf, &desc);

	if (err == ENOBUFS)
		return 0;
	if (!err) {
		memcpy(buf, message, len);
		err = pmSend(lab->session.ctx, desc);
	}
	return err ? session_failed(&lab->session, "pmSend", node, err) : 1;
}

static void count(struct lab *lab, uint64_t bytes)
{
	struct result *own = &lab->own;

	own->got += bytes;
	own->last_ns = clock_monotonic_ns();
	for (; lab->n_had < PARTS && own->got * PARTS >= lab->expected * (lab->n_had + 1);
	     lab->n_had++)
		own->had_ns[lab->n_had] = own->last_ns;
}

static int take(struct lab *lab, uint32_t src, const void *buf, size_t len)
{
	struct partner *from = partner_of(lab->sources, lab->n_sources, src);
	struct head head;

	memcpy(&head, buf, sizeof(head));
	if (head.kind == END) {
		lab->is_over = true;
	} else if (head.kind == START) {
		lab->has_begun = true;
	} else if (head.kind == READY) {
		lab->n_ready++;
	} else if (head.kind == RESULT) {
		memcpy(&lab->all[src], buf, sizeof(lab->all[src]));
		lab->n_results++;
	} else if (from && head.kind == HANDLE && len == sizeof(struct handle)) {
		memcpy(&from->handle, &((const struct handle *)buf)->handle, sizeof(pmHandle));
		from->has_handle = true;
	} else if (from && head.number == from->came && len == lab->settings.bytes) {
		from->came++;
		count(lab, len);
	} else {
		message_error("message %llu of node %u came in the place of another",
			      (unsigned long long)head.number, src);
		return -EBADMSG;
	}
	return 0;
}

/* Takes all messages that have arrived: their count, or -errno. */
static int receive(struct lab *lab)
{
	pmNode src;
	pmDesc desc;
	size_t len;
	void *buf;
	int err, rc, n = 0;

	while (!(err = pmReceive(lab->session.ctx, &buf, &len, &src, &desc))) {
		rc = take(lab, src, buf, len);
		pmReleaseReceiveBuffer(lab->session.ctx, desc);
		if (rc)
			return rc;
		n++;
	}
	return err == ENOBUFS ? n : session_failed(&lab->session, "pmReceive", src, err);
}

/* A message to each target in turn, as long as there is room. */
static int send_some(struct lab *lab)
{
	char message[sizeof(struct head)];
	int rc, n = 0, before;

	do {
		before = n;
		for (uint32_t i = 0; i < lab->n_targets; i++) {
			struct partner *to = &lab->targets[i];
			const struct head head = {.kind = DATA, .number = to->sent};

			if (to->sent == lab->settings.messages)
				continue;
			memcpy(message, &head, sizeof(head));
			rc = post(lab, to->node, message, sizeof(head), lab->settings.bytes);
			if (rc < 0)
				return rc;
			to->sent += (uint32_t)rc;
			n += rc;
		}
	} while (n > before);
	return n;
}

/* One read at a time from each source. */
static int read_some(struct lab *lab)
{
	uint64_t bytes = lab->settings.bytes;
	int err, n = 0;

	for (uint32_t i = 0; i < lab->n_sources; i++) {
		struct partner *from = &lab->sources[i];

		if (from->begun > from->done) {
			err = pmIsReadDone(lab->session.ctx, from->desc);
			if (err == ENOBUFS)
				continue;
			if (err)
				return session_failed(&lab->session, "pmRead", from->node, err);
			from->done++;
			count(lab, bytes);
			n++;
		}
		if (from->begun == lab->settings.messages)
			continue;
		err = pmRead(lab->session.ctx, from->node, &from->handle, 0, lab->sink, bytes,
			     &from->desc);
		if (err && err != ENOBUFS)
			return session_failed(&lab->session, "pmRead", from->node, err);
		from->begun += !err;
		n += !err;
	}
	return n;
}

static bool has_all_handles(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->n_sources; i++)
		if (!lab->sources[i].has_handle)
			return false;
	return true;
}

/* Node 0 tells all others, itself last. 0 or -errno; @flag once all are told. */
static int tell_all(struct lab *lab, enum kind kind, bool *flag)
{
	const struct head head = {.kind = kind};
	int rc;

	for (; lab->n_told < lab->session.nodes; lab->n_told++) {
		rc = post(lab, lab->n_told, &head, sizeof(head), sizeof(head));
		if (rc <= 0)
			return rc;
	}
	lab->n_told = 1;
	*flag = true;
	return 0;
}

/* One step towards the start: handles to all targets, then word to node 0, which waits for all. */
static int prepare(struct lab *lab, const struct handle *handle, uint32_t *told)
{
	static const struct head ready = {.kind = READY};
	int rc;

	if (*told < lab->n_targets) {
		rc = post(lab, lab->targets[*told].node, handle, sizeof(*handle), sizeof(*handle));
		*told += rc > 0;
		return rc;
	}
	if (!lab->is_ready && has_all_handles(lab)) {
		rc = lab->session.self ? post(lab, 0, &ready, sizeof(ready), sizeof(ready)) : 1;
		lab->is_ready = rc > 0;
		lab->n_ready += rc > 0 && !lab->session.self;
		return rc;
	}
	return lab->n_ready == lab->session.nodes ? tell_all(lab, START, &lab->has_begun) : 0;
}

/* Everybody gets to know those it deals with, before the clock starts. */
static int meet(struct lab *lab)
{
	struct handle handle = {.head = {.kind = HANDLE}};
	uint32_t told = 0;
	int rc, n, err;

	err = pmMLock(lab->session.ctx, lab->source, lab->settings.bytes, &handle.handle);
	if (err)
		return session_failed(&lab->session, "pmMLock", lab->session.self, err);
	while (!lab->has_begun) {
		n = rc = receive(lab);
		if (rc >= 0)
			n += rc = prepare(lab, &handle, &told);
		if (rc < 0)
			return rc;
		if (n)
			wait_busy(&lab->session.wait);
		else
			rc = wait_idle(&lab->session.wait, WAIT_MESSAGE);
		if (rc < 0)
			return session_gave_up(&lab->session, "word", 0, rc);
	}
	return 0;
}

/* Reports this node's result to node 0: 1 = done, 0 = not now, or -errno. */
static int tell_result(struct lab *lab)
{
	if (lab->session.self)
		return post(lab, 0, &lab->own, sizeof(lab->own), sizeof(lab->own));
	lab->all[0] = lab->own;
	lab->n_results++;
	return 1;
}

static int work(struct lab *lab)
{
	int n = receive(lab), rc;

	if (n < 0)
		return n;
	rc = lab->settings.is_read ? read_some(lab) : send_some(lab);
	if (rc >= 0 && !lab->has_told && lab->own.got == lab->expected) {
		n += rc;
		rc = tell_result(lab);
		lab->has_told = rc > 0;
	}
	if (rc >= 0 && lab->n_results == lab->session.nodes) {
		n += rc;
		rc = tell_all(lab, END, &lab->is_over);
	}
	return rc < 0 ? rc : n + rc;
}

/* Until node 0 says that all have what they expect. */
static int run(struct lab *lab)
{
	int rc;

	lab->own.begin_ns = lab->own.last_ns = clock_monotonic_ns();
	while (!lab->is_over) {
		rc = work(lab);
		if (rc < 0)
			return rc;
		if (rc)
			wait_busy(&lab->session.wait);
		else
			rc = wait_idle(&lab->session.wait, WAIT_ROOM);
		if (rc < 0)
			return session_gave_up(&lab->session, "data", 0, rc);
	}
	return 0;
}

/* Bytes that a node had at a time, evenly between the parts of which it is known. */
static double had_at(const struct result *one, uint64_t when)
{
	uint64_t from = one->begin_ns;
	uint32_t i = 0;

	while (i < PARTS && one->had_ns[i] <= when)
		from = one->had_ns[i++];
	if (i == PARTS)
		return (double)one->got;
	return (double)one->got / PARTS *
	       (i + (double)(when - from) / (double)(one->had_ns[i] - from));
}

/* Bytes received while all nodes were active: from the last one's start to the first one's end. */
static void print_together(const struct lab *lab, struct json *json, uint64_t begin, uint64_t end)
{
	double bytes = 0;

	for (uint32_t i = 0; end > begin && i < lab->session.nodes; i++)
		if (lab->all[i].got)
			bytes += had_at(&lab->all[i], end) - had_at(&lab->all[i], begin);
	json_number(json, "together_bytes", bytes);
	json_number(json, "together_seconds", end > begin ? (double)(end - begin) / 1e9 : 0);
}

static void print(const struct lab *lab)
{
	uint64_t begin = UINT64_MAX, begin_last = 0, last = 0, first = UINT64_MAX, got = 0;
	uint64_t first_done = UINT64_MAX; /* of those that expect anything */
	struct json json = {.out = stdout};
	double sum = 0, squares = 0, rate;
	uint32_t n = 0;

	for (uint32_t i = 0; i < lab->session.nodes; i++) {
		const struct result *one = &lab->all[i];

		begin = one->begin_ns < begin ? one->begin_ns : begin;
		begin_last = one->begin_ns > begin_last ? one->begin_ns : begin_last;
		last = one->last_ns > last ? one->last_ns : last;
		first = one->last_ns < first ? one->last_ns : first;
		got += one->got;
		if (!one->got)
			continue;
		first_done = one->last_ns < first_done ? one->last_ns : first_done;
		rate = (double)one->got / (double)(one->last_ns - one->begin_ns);
		sum += rate;
		squares += rate * rate;
		n++;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "pattern", settings_pattern_name(&lab->settings));
	json_count(&json, "bytes_in_all", got);
	json_number(&json, "seconds", (double)(last - begin) / 1e9);
	json_number(&json, "begun_within", (double)(begin_last - begin) / 1e9);
	json_number(&json, "ended_within", (double)(last - first) / 1e9);
	json_number(&json, "fairness", sum * sum / squares / n);
	print_together(lab, &json, begin_last, first_done);
	json_close(&json, '}');
	json_end_line(&json);
}

static int set_up(struct lab *lab)
{
	uint64_t messages = lab->settings.messages, bytes = lab->settings.bytes;

	if (!lab->settings.rounds)
		lab->settings.rounds = 1;
	pattern_init(&lab->plan, &lab->settings);
	if (lab->plan.hosts != lab->session.nodes) {
		message_error("--dims=%s has %u hosts, the job %u nodes", lab->settings.dims_text,
			      lab->plan.hosts, lab->session.nodes);
		return -EINVAL;
	}
	lab->targets = list(lab, pattern_targets, &lab->n_targets);
	lab->sources = list(lab, pattern_sources, &lab->n_sources);
	lab->source = calloc(1, bytes);
	lab->sink = calloc(1, bytes);
	lab->all = calloc(lab->session.nodes, sizeof(*lab->all));
	lab->own.head.kind = RESULT;
	lab->n_told = 1;
	lab->expected = messages * bytes * lab->n_sources;
	return lab->targets && lab->sources && lab->source && lab->sink && lab->all ? 0 : -ENOMEM;
}

static int take_part(struct lab *lab)
{
	struct boot *boot;
	int rc = boot_pmix_open(&boot);

	if (rc)
		return rc;
	message_node(boot->self);
	rc = session_open(&lab->session, boot, lab->settings.limit);
	if (rc)
		return rc;
	rc = set_up(lab);
	if (!rc)
		rc = meet(lab);
	if (!rc)
		rc = run(lab);
	if (!rc && lab->session.self == 0)
		print(lab);
	session_close(&lab->session, rc);
	return rc;
}

int main(int argc, char **argv)
{
	struct lab lab = {0};
	int rc = settings_read(argc, argv, &lab.settings);

	if (!rc && !boot_pmix_is_offered()) {
		message_error("no other node: start it as \"mpirun -np N hxblab\"");
		rc = -EINVAL;
	}
	if (!rc)
		rc = take_part(&lab);
	if (lab.plan.settings)
		pattern_fini(&lab.plan);
	free(lab.targets);
	free(lab.sources);
	free(lab.source);
	free(lab.sink);
	free(lab.all);
	return rc == -ECANCELED ? MESSAGE_OK : message_exit_code(rc);
}
