// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fake_pm fake;

static struct fake_sent *open_buffer; /* lent and not sent yet */

void fake_reset(const char *device)
{
	memset(&fake, 0, sizeof(fake));
	fake.device = device;
	fake.send_buffers = INT32_MAX;
	fake.last = &fake.first;
	fake.stream = ENOBUFS;
	fake.wait_fd = fake.wait_ms = -1;
}

void fake_open(const char *device)
{
	fake_reset(device);
	mtl_pm.ctx = 1;
	match_init(&mtl_pm.match);
	ids_init(&mtl_pm.ids);
	TAILQ_INIT(&mtl_pm.busy);
	TAILQ_INIT(&mtl_pm.choked);
	TAILQ_INIT(&mtl_pm.readers);
	TAILQ_INIT(&mtl_pm.waiters);
	STAILQ_INIT(&mtl_pm.done);
	STAILQ_INIT(&mtl_pm.free_notes);
	TAILQ_INIT(&mtl_pm.comms);
	mtl_pm.staged = NULL;
	mtl_pm.burst = NULL;
	mtl_pm.held = 0;
	mtl_pm.kept = (struct mtl_pm_kept){0};
	mtl_pm.n_fetches = 0;
	mtl_pm.damaged = 0;
	mtl_pm.deaths = 0;
	mtl_pm.deaf_bytes = 0;
	mtl_pm.exposed = 0;
	mtl_pm.is_corked = mtl_pm.has_held = false;
	mtl_pm.unexpected_bytes = 0;
	mtl_pm.unexpected_limit = 64u << 20;
	mtl_pm.read_limit = 32;
	mtl_pm.middle_limit = mtl_pm.pull_limit = mtl_pm.head_limit = -1;
}

static void drop_message(void *arg, struct match_entry *e, bool is_message)
{
	if (is_message)
		mtl_pm_message_free(mtl_pm_message_of_match(e));
}

static void free_peer(struct mtl_pm_peer *peer)
{
	struct mtl_pm_note *note;

	while ((note = STAILQ_FIRST(&peer->notes))) {
		STAILQ_REMOVE_HEAD(&peer->notes, link);
		free(note);
	}
	free(peer->ways);
	free(peer);
}

void fake_close(void)
{
	struct mtl_pm_note *note;
	struct mtl_pm_message *m;

	/* Those that are dropped tell nobody. */
	TAILQ_INIT(&mtl_pm.choked);
	match_fini(&mtl_pm.match, drop_message, NULL);
	for (uint32_t i = 0; mtl_pm.peers.slots && i <= mtl_pm.peers.mask; i++)
		if (mtl_pm.peers.slots[i].value)
			free_peer(mtl_pm.peers.slots[i].value);
	table_fini(&mtl_pm.peers);
	ids_fini(&mtl_pm.ids);
	while ((note = STAILQ_FIRST(&mtl_pm.free_notes))) {
		STAILQ_REMOVE_HEAD(&mtl_pm.free_notes, link);
		free(note);
	}
	while ((m = mtl_pm.free_messages)) {
		mtl_pm.free_messages = m->next;
		free(m);
	}
	while (fake.first)
		fake_drop();
	mtl_pm.ctx = PM_CONTEXT_NONE;
}

static struct fake_row *new_row(pmNode node, int error)
{
	struct fake_row *row = &fake.rows[fake.n_rows % FAKE_ROWS];

	ok(fake.n_rows < FAKE_ROWS);
	fake.n_rows++;
	*row = (struct fake_row){.node = node, .error = error};
	return row;
}

void fake_arrive(pmNode node, const struct iovec *parts, size_t n)
{
	struct fake_row *row = new_row(node, 0);

	ok(n > 0 && n <= MTL_PM_ROW);
	memcpy(row->parts, parts, n * sizeof(*parts));
	row->n = n;
}

void fake_arrive_error(pmNode node, int error)
{
	new_row(node, error);
}

const struct fake_sent *fake_sent(void)
{
	return fake.first;
}

void fake_drop(void)
{
	struct fake_sent *sent = fake.first;

	if (!ok(sent != NULL))
		return;
	fake.first = sent->next;
	if (!fake.first)
		fake.last = &fake.first;
	free(sent);
}

void fake_sent_control(pmNode node, enum envelope_kind kind, uint64_t id)
{
	const struct envelope_control *m;

	if (!ok(fake.first != NULL))
		return;
	m = (const void *)fake.first->bytes;
	is_int(fake.first->node, node);
	is_int(m->kind, kind);
	is_int(m->id, id);
	fake_drop();
}

void fake_sent_data(pmNode node, const void *head, size_t head_size, const void *data, size_t size)
{
	const struct fake_sent *sent = fake.first;

	if (!ok(sent != NULL))
		return;
	is_int(sent->node, node);
	if (is_int(sent->size, head_size + size)) {
		is_mem(sent->bytes, head, head_size);
		is_mem(sent->bytes + head_size, data, size);
	}
	fake_drop();
}

void fake_prepare_send(struct fake_send *s, struct mtl_pm_peer *peer, const char *data,
		       size_t length)
{
	memset(s, 0, sizeof(*s));
	s->req.super.ompi_req = &s->ompi;
	s->req.send.peer = peer;
	s->req.send.data = data;
	s->req.send.length = length;
	s->req.send.context = FAKE_CONTEXT;
}

void fake_prepare(struct fake_receive *r, size_t room)
{
	memset(r, 0, sizeof(*r));
	r->req.super.ompi_req = &r->ompi;
	r->req.is_receive = true;
	r->req.receive.data = r->data;
	r->req.receive.room = r->req.receive.wanted = room;
}

void fake_post(struct fake_receive *r, int32_t source, int32_t tag, size_t room)
{
	fake_prepare(r, room);
	r->req.receive.match.source = source;
	r->req.receive.match.tag = tag;
	is_int(match_post(match_context(&mtl_pm.match, FAKE_CONTEXT), &r->req.receive.match), 0);
}

struct mtl_pm_request *fake_completed(void)
{
	struct mtl_pm_request *req = STAILQ_FIRST(&mtl_pm.done);

	if (req)
		STAILQ_REMOVE_HEAD(&mtl_pm.done, done);
	return req;
}

/* ---- PM ---- */

int pmGetMtu(pmContext ctx, pmNode node, size_t *ret_mtu)
{
	int error = fake.mtu_error;

	*ret_mtu = FAKE_MTU;
	if (fake.at_mtu)
		fake.at_mtu();
	return error;
}

int pmGetDeviceName(pmContext ctx, pmNode node, const char **ret_name)
{
	*ret_name = fake.device;
	return 0;
}

int pmGetLongRead(pmContext ctx, pmNode node, uint64_t *ret_bytes)
{
	*ret_bytes = fake.long_read;
	return 0;
}

int pmGetSendBuffer(pmContext ctx, pmNode node, size_t len, void **ret_buf, pmDesc *ret_desc)
{
	if (fake.send_error)
		return fake.send_error;
	if (!fake.send_buffers)
		return ENOBUFS;
	ok(len <= FAKE_MTU && !open_buffer);
	fake.send_buffers--;
	open_buffer = calloc(1, sizeof(*open_buffer));
	open_buffer->node = node;
	open_buffer->size = len;
	*ret_buf = open_buffer->bytes;
	*ret_desc = 1;
	return 0;
}

int pmTruncateBuffer(pmContext ctx, pmDesc desc, size_t len)
{
	ok(len <= open_buffer->size);
	open_buffer->size = len;
	return 0;
}

int pmSend(pmContext ctx, pmDesc desc)
{
	open_buffer->is_corked = fake.corks > fake.uncorks;
	*fake.last = open_buffer;
	fake.last = &open_buffer->next;
	open_buffer = NULL;
	return 0;
}

int pmDiscardSendBuffer(pmContext ctx, pmDesc desc)
{
	ok(open_buffer != NULL);
	free(open_buffer);
	open_buffer = NULL;
	return 0;
}

int pmPost(pmContext ctx, pmNode node, const void *data, size_t len)
{
	void *buf;
	pmDesc desc;
	int rc = pmGetSendBuffer(ctx, node, len, &buf, &desc);

	if (rc)
		return rc;
	memcpy(buf, data, len);
	return pmSend(ctx, desc);
}

int pmGatherHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		      pmGather gather, void *arg, size_t len, size_t *ret_done)
{
	const pmRowHead *head = first;
	size_t n;

	ok(len > 0);
	for (*ret_done = 0; *ret_done < len; *ret_done += n, head = others) {
		char *buf;
		pmDesc desc;
		int rc;

		n = len - *ret_done < head->part ? len - *ret_done : head->part;
		rc = pmGetSendBuffer(ctx, node, head->len + n, (void **)&buf, &desc);
		if (rc)
			return rc;
		memcpy(buf, head->data, head->len);
		gather(arg, buf + head->len, n);
		pmSend(ctx, desc);
	}
	return 0;
}

static void gather_plain(void *next, void *to, size_t n)
{
	memcpy(to, *(const char **)next, n);
	*(const char **)next += n;
}

int pmPostHeadedRow(pmContext ctx, pmNode node, const pmRowHead *first, const pmRowHead *others,
		    const void *data, size_t len, size_t *ret_done)
{
	return pmGatherHeadedRow(ctx, node, first, others, gather_plain, &data, len, ret_done);
}

int pmPostRow(pmContext ctx, pmNode node, const void *head, size_t head_len, const void *data,
	      size_t len, size_t part, size_t *ret_done)
{
	const pmRowHead all = {head, head_len, part};

	return pmPostHeadedRow(ctx, node, &all, &all, data, len, ret_done);
}

int pmCork(pmContext ctx, int is_on)
{
	fake.corks += is_on;
	fake.uncorks += !is_on;
	return 0;
}

int pmRead(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset, void *local,
	   size_t len, pmDesc *ret_desc)
{
	if (fake.read_error)
		return fake.read_error;
	if (!ok(fake.n_reads < FAKE_READS))
		return ENOBUFS;
	fake.reads[fake.n_reads] = (struct fake_read){
		.node = node, .from = roffset, .to = local, .size = len, .rc = ENOBUFS};
	*ret_desc = ++fake.n_reads;
	return 0;
}

int pmIsReadDone(pmContext ctx, pmDesc desc)
{
	return ok(desc && desc <= fake.n_reads) ? fake.reads[desc - 1].rc : EINVAL;
}

int pmWrite(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset, const void *local,
	    size_t len, pmDesc *ret_desc)
{
	int rc = pmRead(ctx, node, remote, roffset, (void *)local, len, ret_desc);

	if (!rc)
		fake.reads[*ret_desc - 1].is_write = true;
	return rc;
}

int pmIsWriteDone(pmContext ctx, pmDesc desc)
{
	ok(fake.reads[desc - 1].is_write);
	return pmIsReadDone(ctx, desc);
}

int pmAtomic(pmContext ctx, pmNode node, const pmHandle *remote, uint64_t roffset,
	     const pmAtomicOp *op, pmDesc *ret_desc)
{
	int rc = pmRead(ctx, node, remote, roffset, NULL, op->width, ret_desc);

	if (!rc)
		fake.reads[*ret_desc - 1].atomic = *op;
	return rc;
}

int pmIsAtomicDone(pmContext ctx, pmDesc desc, uint64_t *ret_before)
{
	ok(fake.reads[desc - 1].atomic.kind);
	*ret_before = fake.reads[desc - 1].before;
	return pmIsReadDone(ctx, desc);
}

/* Only additions to 64 bits. */
int pmAtomicHere(const pmAtomicOp *op, void *at, uint64_t *ret_before)
{
	ok(op->kind == PM_ATOMIC_ADD && op->width == sizeof(uint64_t));
	*ret_before = __atomic_fetch_add((uint64_t *)at, op->operand, __ATOMIC_SEQ_CST);
	return 0;
}

int pmProbeNode(pmContext ctx, pmNode node)
{
	fake.n_probes++;
	return fake.probe_error;
}

int pmIsSendOut(pmContext ctx, pmNode node)
{
	return fake.send_out;
}

int pmIsStreamOpen(pmContext ctx, pmNode node)
{
	return fake.stream;
}

int pmMLock(pmContext ctx, void *addr, size_t len, pmHandle *ret_handle)
{
	if (fake.lock_error)
		return fake.lock_error;
	fake.locks++;
	fake.locked = addr;
	fake.locked_size = len;
	*ret_handle = (pmHandle){.word = {(uintptr_t)addr, len}};
	return 0;
}

int pmMUnlock(pmContext ctx, const pmHandle *handle)
{
	ok(handle->word[0] != 0);
	fake.unlocks++;
	return 0;
}

int pmReceiveRow(pmContext ctx, struct iovec *ret_parts, size_t room, size_t *ret_n,
		 pmNode *ret_src, pmDesc *ret_desc)
{
	const struct fake_row *row;

	fake.polls++;
	if (fake.on_poll)
		fake.on_poll();
	if (fake.n_taken == fake.n_rows)
		return ENOBUFS;
	row = &fake.rows[fake.n_taken++];
	*ret_src = row->node;
	if (row->error)
		return row->error;
	ok(!fake.lent && row->n <= room);
	memcpy(ret_parts, row->parts, row->n * sizeof(*ret_parts));
	*ret_n = row->n;
	*ret_desc = fake.lent = fake.n_taken;
	return 0;
}

int pmReleaseReceiveBuffer(pmContext ctx, pmDesc desc)
{
	const struct fake_row *row = &fake.rows[desc - 1];

	if (!is_int(desc, fake.lent))
		return EINVAL;
	fake.lent = 0;
	for (size_t i = 0; i < row->n; i++)
		memset(row->parts[i].iov_base, 0xee, row->parts[i].iov_len);
	return 0;
}

int pmOpenContext(const struct pmOptions *options, pmContext *ret_ctx)
{
	if (fake.open_error)
		return fake.open_error;
	fake.options = *options;
	fake.opens++;
	*ret_ctx = 1;
	return 0;
}

int pmCloseContext(pmContext ctx)
{
	is_int(ctx, 1);
	fake.closes++;
	return 0;
}

int pmGetAddress(pmContext ctx, void *buf, size_t *len)
{
	if (fake.address_error)
		return fake.address_error;
	ok(*len >= sizeof(FAKE_ADDRESS));
	*len = sizeof(FAKE_ADDRESS);
	memcpy(buf, FAKE_ADDRESS, *len);
	return 0;
}

static int step(char letter, int error)
{
	size_t n = strlen(fake.steps);

	if (n + 1 < sizeof(fake.steps))
		fake.steps[n] = letter;
	if (fake.at_step)
		fake.at_step();
	return error;
}

int pmHold(pmContext ctx)
{
	return step('h', fake.hold_error);
}

int pmQuiesce(pmContext ctx, int timeout_ms)
{
	ok(timeout_ms > 0);
	fake.quiesces++;
	return step('q', fake.quiesce_error);
}

int pmSuspend(pmContext ctx)
{
	is_int(fake.lent, 0);
	return step('s', fake.suspend_error);
}

int pmRevive(pmContext ctx, const char *config, uint64_t job_key)
{
	snprintf(fake.config, sizeof(fake.config), "%s", config ? config : "none");
	fake.job_key = job_key;
	return step('R', fake.revive_error);
}

int pmResume(pmContext ctx)
{
	fake.resumes++;
	return step('r', 0);
}

int pmGetSelf(pmContext ctx, pmNode *ret_node)
{
	*ret_node = FAKE_NODE;
	return 0;
}

int pmGetNote(pmContext ctx, const char **ret_text)
{
	*ret_text = fake.note ? fake.note : "";
	return 0;
}

int pmBeforeSelect(pmContext ctx, int *ret_fd, int *ret_timeout_ms)
{
	(void)ctx;
	fake.rounds++;
	if (fake.at_round)
		fake.at_round();
	if (fake.round_error)
		return fake.round_error;
	if (fake.is_waiting)
		return ENOBUFS;
	*ret_fd = fake.wait_fd;
	*ret_timeout_ms = fake.wait_ms;
	fake.arms++;
	return 0;
}

int pmAfterSelect(pmContext ctx)
{
	(void)ctx;
	fake.arms--;
	return 0;
}

int pmIsSendDone(pmContext ctx, pmNode node)
{
	(void)ctx;
	return node != PM_NODE_ANY ? EINVAL : fake.is_owed ? ENOBUFS : 0;
}

const char *pmLastError(void)
{
	return "fake";
}

const char *pmErrorString(int error)
{
	return strerror(error);
}
