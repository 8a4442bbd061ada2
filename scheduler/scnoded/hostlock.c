// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/hostlock.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int hostlock_take(struct hostlock *lock, const json_t *head)
{
	const json_t *uid = json_object_get(head, "uid");
	const char *text = json_string_value(json_object_get(head, "text"));
	json_int_t number = json_integer_value(uid);

	if (!uid) {
		hostlock_clear(lock);
		return 0;
	}
	if (!json_is_integer(uid) || number < 0 || number >= (json_int_t)(uid_t)-1 || !text)
		return -EPROTO;
	*lock = (struct hostlock){.is_held = true, .uid = (uid_t)number};
	snprintf(lock->text, sizeof(lock->text), "%s", text);
	return 0;
}

void hostlock_clear(struct hostlock *lock)
{
	*lock = (struct hostlock){.is_held = false};
}

void hostlock_lose(struct hostlock *lock, double now)
{
	if (lock->is_held && lock->until <= 0)
		lock->until = now + HOSTLOCK_STALE_S;
}

bool hostlock_keeps_off(const struct hostlock *lock, uid_t uid, double now)
{
	if (!lock->is_held || (lock->until > 0 && now >= lock->until))
		return false;
	return uid && uid != geteuid() && uid != lock->uid;
}

bool hostlock_is_of(const struct hostlock *lock, uid_t uid)
{
	return lock->is_held && lock->uid == uid;
}
