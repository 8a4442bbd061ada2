// SPDX-License-Identifier: BSD-3-Clause
/* messages: what the compiled table has, compared with what programs wrote before there was one. */
#include "scheduler/proto/messages.h"

#include <string.h>

#include "scheduler/proto/ops.h"
#include "tests/harness/tap.h"

static const struct messages_field *find_field(const struct messages_entry *entry, const char *name)
{
	const struct messages_field *field = entry->fields;

	while (field->name && strcmp(field->name, name) != 0)
		field++;
	return field->name ? field : NULL;
}

TAP_TEST(messages_find__every_entry_by_its_link_and_op)
{
	size_t n;
	const struct messages_entry *entries = messages_entries(&n);

	ok(n > MESSAGES_OPS);
	for (size_t i = 0; i < n; i++) {
		const char *op = messages_op_text(entries[i].op);

		okf(messages_find(entries[i].link, op) == &entries[i], "%s", op);
	}
}

TAP_TEST(messages_find__nothing_in_another_direction)
{
	ok(messages_find(MESSAGES_SCRUN_TO_LEADER, OP_ATTACH) != NULL);
	ok(!messages_find(MESSAGES_LEADER_TO_SCRUN, OP_ATTACH));
	ok(!messages_find(MESSAGES_SCRUN_TO_LEADER, "attac"));
	ok(!messages_find(MESSAGES_SCRUN_TO_LEADER, ""));
}

TAP_TEST(messages_op_text__is_the_name_of_the_op)
{
	is_str(messages_op_text(ON_SUBMIT), "submit");
	is_str(messages_op_text(ON_RANK_ENDED), OP_RANK_ENDED);
	is_str(messages_op_text(ON_SESSION), "session");
	ok(messages_op_text(ON_SESSION) == OP_SESSION);
}

TAP_TEST(messages_find__fields_of_a_direction)
{
	const struct messages_entry *user, *scout;

	user = messages_find(MESSAGES_SCRUN_TO_LEADER, OP_SIGNAL);
	scout = messages_find(MESSAGES_SCOUT_TO_SCREMOTE, OP_SIGNAL);
	must(user && scout);
	is_int(user->op, scout->op);
	ok(!find_field(user, "id"));
	must(find_field(scout, "id") && find_field(scout, "signal"));
	is_int(find_field(scout, "id")->type, MESSAGES_ID);
	is_int(find_field(scout, "signal")->min, 1);
	is_int(find_field(scout, "signal")->max, 64);
}

TAP_TEST(messages_find__optional_fields_and_words)
{
	const struct messages_entry *drain = messages_find(MESSAGES_USER_TO_SCORED, OP_DRAIN);

	must(drain && find_field(drain, "state") && find_field(drain, "text"));
	ok(find_field(drain, "text")->is_optional && !find_field(drain, "host")->is_optional);
	is_str(find_field(drain, "state")->words[0], "up");
	is_str(find_field(drain, "state")->words[1], "drained");
	ok(!find_field(drain, "state")->words[2] && !find_field(drain, "state")->has_range);
	ok(!messages_find(MESSAGES_USER_TO_SCORED, OP_CLUSTER)->fields->name);
}

TAP_TEST(ops__keep_the_names_that_are_on_the_wire)
{
	static const struct {
		const char *op, *text;
	} kept[] = {{OP_OK, "ok"},           {OP_ERROR, "error"},           {OP_BEAT, "beat"},
		    {OP_IN_ROOM, "in_room"}, {OP_MODEX_DATA, "modex_data"}, {OP_FILE, "file"},
		    {OP_CUT, "cut"},         {OP_HOST_LOCK, "host_lock"},   {OP_STOP, "stop"}};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		is_str(kept[i].op, kept[i].text);
}
