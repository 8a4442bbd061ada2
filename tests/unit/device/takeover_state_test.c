// SPDX-License-Identifier: BSD-3-Clause
/* Tests of device/takeover_state.c: taken nodes stopped, saved and restored. */
#include "pmcore/device/takeover.h"
#include "tests/unit/device/couple.h"

#define BLOB (1u << 20)

static uint8_t blobs[2][BLOB];
static size_t lens[2];

/* Both at once, as the ranks of a job are: neither sends while the other may. */
static int quiesce_both(void)
{
	uint64_t end = clock_monotonic_ns() + LOSING_TURN_NS;
	int err = ETIMEDOUT;

	while (err == ETIMEDOUT && clock_monotonic_ns() < end) {
		err = pmQuiesce(couple.ctx[0], 0);
		err = pmQuiesce(couple.ctx[1], 0) ?: err;
	}
	return err;
}

/* Saves both, closes them, and goes on with new ones. */
static void save_and_restore(const char *config)
{
	uint32_t sent[2], received[2];

	if (!is_int(quiesce_both(), 0))
		return;
	for (int i = 0; i < 2; i++)
		okf(!pmSaveContext(couple.ctx[i], blobs[i], BLOB, &lens[i]), "%s", pmLastError());
	memcpy(sent, couple.sent, sizeof(sent));
	memcpy(received, couple.received, sizeof(received));
	close_couple();
	if (!open_couple(config))
		return;
	memcpy(couple.sent, sent, sizeof(sent));
	memcpy(couple.received, received, sizeof(received));
	for (int i = 0; i < 2; i++)
		okf(!pmRestoreContext(couple.ctx[i], blobs[i], lens[i]), "%s", pmLastError());
}

/* Saved after so many turns from the loss on: with marks, parts and messages anywhere. */
TAP_TEST(takeover_save__at_any_time)
{
	for (int turns = 0; turns < 24; turns++) {
		if (!open_couple(CONFIG))
			return;
		send_some(0, 7);
		/* with none, the other side may be saved before it knows */
		send_some(1, turns % 2 ? 3 : 0);
		losing_carry(couple.way[0], 3);
		couple.way[0]->is_lost = true;
		take(0);
		send_some(0, 20);
		turn(turns / 2);
		save_and_restore(CONFIG);
		is_str(device(0), "udp");
		drain();
		is_str(device(1), "udp");
		send_some(0, 6);
		send_some(1, 6);
		drain();
		settle();
		close_couple();
	}
}

/* More is queued than the new link takes: what waits here is saved here. */
TAP_TEST(takeover_save__full_queues)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	couple.way[0]->is_lost = true;
	drain();
	while (!send_one(0) && couple.sent[0] < 10000)
		continue;
	ok(pmIsSendDone(couple.ctx[0], 1) == ENOBUFS);
	save_and_restore(CONFIG);
	drain();
	send_some(1, 5);
	drain();
	close_couple();
}

/* A change that is half way has to be whole first. */
TAP_TEST(takeover_quiesce__half_way)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 2);
	losing_carry(couple.way[0], 1);
	couple.way[1]->is_deaf = true;
	couple.way[0]->is_lost = true;
	turn(2000);
	is_int(pmQuiesce(couple.ctx[1], 20), ETIMEDOUT);
	couple.way[1]->is_deaf = false;
	is_int(quiesce_both(), 0);
	is_int(pmResume(couple.ctx[0]), 0);
	is_int(pmResume(couple.ctx[1]), 0);
	drain();
	close_couple();
}

/* Nothing leaves a stopped link, and goes on after. */
TAP_TEST(takeover_resume__goes_on)
{
	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	couple.way[0]->is_lost = true;
	drain();
	is_int(quiesce_both(), 0);
	is_int(send_one(0), ENOBUFS);
	is_int(pmResume(couple.ctx[0]), 0);
	is_int(pmResume(couple.ctx[1]), 0);
	send_some(0, 5);
	drain();
	close_couple();
}

/* Saves the section of the taken nodes of context 0, with parts that wait to be sent. */
static int save_section(uint8_t *buf, size_t room)
{
	const struct composite_slot *slot = context_get(couple.ctx[0])->c->takeover;

	return slot->ops.save(slot->link, buf, room);
}

TAP_TEST(takeover_restore__damaged)
{
	static uint8_t section[BLOB];
	const struct composite_slot *slot;
	int len, err;

	if (!open_couple(CONFIG))
		return;
	send_some(0, 1);
	couple.way[0]->is_lost = true;
	turn(1);
	while (!send_one(0) && couple.sent[0] < 1000)
		continue;
	len = save_section(section, sizeof(section));
	close_couple();
	must(len > 300 && (size_t)len < sizeof(section));
	for (int cut = 0; cut < len; cut += cut < 400 ? 13 : 5003) {
		if (!open_couple(CONFIG))
			return;
		is_int(takeover_open(context_get(couple.ctx[0])->c), 0);
		slot = context_get(couple.ctx[0])->c->takeover;
		err = slot->ops.restore(slot->link, section, (size_t)cut, NULL, NULL);
		okf(err == -EINVAL, "cut after %d of %d: %d", cut, len, err);
		close_couple();
	}
}
