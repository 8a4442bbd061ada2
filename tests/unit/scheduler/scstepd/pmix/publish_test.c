// SPDX-License-Identifier: BSD-3-Clause
/*
 * publish: the upcalls of a rank, and the store at the root: finding, waiting, taking away, and the
 * bounds.
 */
#include "tests/harness/stillclock.h"
#include "tests/unit/scheduler/scstepd/pmix/fake_pmix.h"

#define HOST 1
#define FIRST_READ ",\"persistence\":0"

/* The same, without a live PMIx. */
pmix_status_t PMIx_Value_xfer(pmix_value_t *to, const pmix_value_t *from)
{
	*to = *from;
	to->data.string = strdup(from->data.string);
	return PMIX_SUCCESS;
}

/* Rank @rank of namespace "ns" says this to the root; @more: ",field" of the head. */
static void say(const char *op, int rank, const char *more, const char *body)
{
	char text[512];
	json_t *head;

	snprintf(text, sizeof(text), "{\"nspace\":\"ns\",\"rank\":%d,\"ticket\":7%s}", rank, more);
	head = pmix_head(text);
	publish_told(&fake.step, op, HOST, head, body, strlen(body));
	json_decref(head);
}

/* The root's next answer, and no more. */
static void answers(pmix_status_t status, const char *body)
{
	if (!ok(fake.first != NULL))
		return;
	is_int(fake.first->to, HOST);
	is_str(json_string_value(json_object_get(fake.first->head, "op")), OP_ANSWER);
	is_int(json_integer_value(json_object_get(fake.first->head, "ticket")), 7);
	is_int(json_integer_value(json_object_get(fake.first->head, "status")), status);
	is_str(fake.first->body, body);
	fake_drop();
}

static void publish(int rank, const char *more, const char *body)
{
	char fields[64];
	int count = 0;

	for (const char *c = body; *c; c++)
		count += *c == '\n';
	snprintf(fields, sizeof(fields), ",\"count\":%d%s", count, more);
	say(OP_PUBLISH, rank, fields, body);
}

static void finish(void)
{
	ok(!fake.first);
	publish_close();
	pmix_close();
}

TAP_TEST(publish__and_lookup)
{
	pmix_open(2, 2);
	publish(3, "", "a=one\nb=two\n");
	answers(PMIX_SUCCESS, "");
	say(OP_LOOKUP, 0, ",\"keys\":[\"b\",\"none\",\"a\"]", "");
	answers(PMIX_SUCCESS, "2\n3:b=two\n3:a=one\n");
	say(OP_LOOKUP, 0, ",\"keys\":[\"none\"]", "");
	answers(PMIX_ERR_NOT_FOUND, "");
	finish();
}

TAP_TEST(publish__a_key_is_given_once)
{
	pmix_open(2, 2);
	publish(0, "", "a=one\n");
	answers(PMIX_SUCCESS, "");
	publish(1, "", "a=two\n");
	answers(PMIX_ERR_DUPLICATE_KEY, "");
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\"]", "");
	answers(PMIX_SUCCESS, "1\n0:a=one\n");
	finish();
}

TAP_TEST(publish__options_are_no_data)
{
	static const char *const options[] = {
		PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT,           PMIX_USERID,
		PMIX_GRPID, PMIX_WAIT,        PMIX_ACCESS_PERMISSIONS};
	char text[256];

	pmix_open(2, 2);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		snprintf(text, sizeof(text), "%s=x\n", options[i]);
		publish(0, "", text);
		answers(PMIX_SUCCESS, "");
		snprintf(text, sizeof(text), ",\"keys\":[\"%s\"]", options[i]);
		say(OP_LOOKUP, 0, text, "");
		answers(PMIX_ERR_NOT_FOUND, "");
	}
	finish();
}

TAP_TEST(publish__read_once)
{
	pmix_open(2, 2);
	is_int(PMIX_PERSIST_FIRST_READ, 1);
	publish(0, ",\"persistence\":1", "a=one\n");
	answers(PMIX_SUCCESS, "");
	say(OP_LOOKUP, 1, ",\"keys\":[\"a\"]", "");
	answers(PMIX_SUCCESS, "1\n0:a=one\n");
	say(OP_LOOKUP, 1, ",\"keys\":[\"a\"]", "");
	answers(PMIX_ERR_NOT_FOUND, "");
	finish();
}

TAP_TEST(publish__malformed)
{
	pmix_open(2, 2);
	say(OP_PUBLISH, 0, ",\"count\":0", "a=one\n");
	answers(PMIX_ERR_BAD_PARAM, "");
	say(OP_PUBLISH, 0, ",\"count\":-1", "a=one\n");
	answers(PMIX_ERR_BAD_PARAM, "");
	say(OP_PUBLISH, 0, ",\"count\":65537", "a=one\n");
	answers(PMIX_ERR_BAD_PARAM, "");
	say(OP_PUBLISH, 0, ",\"count\":1", "");
	answers(PMIX_ERR_BAD_PARAM, "");
	say(OP_PUBLISH, 0, "", "a=one\n");
	answers(PMIX_ERR_BAD_PARAM, "");
	/* More are announced than have come. */
	say(OP_PUBLISH, 0, ",\"count\":2", "a=one\n");
	answers(PMIX_ERR_UNPACK_FAILURE, "");
	say(OP_PUBLISH, 0, ",\"count\":1", "no value");
	answers(PMIX_ERR_UNPACK_FAILURE, "");
	finish();
}

static void say_head(const char *text)
{
	json_t *head = pmix_head(text);

	publish_told(&fake.step, OP_LOOKUP, HOST, head, NULL, 0);
	json_decref(head);
	answers(PMIX_ERR_BAD_PARAM, "");
}

TAP_TEST(publish_told__from_nobody)
{
	char text[512], name[PMIX_MAX_NSLEN + 2];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = 0;
	pmix_open(2, 2);
	say_head("{\"ticket\":7,\"keys\":[]}");
	say_head("{\"ticket\":7,\"nspace\":5,\"keys\":[]}");
	say_head("{\"ticket\":7,\"nspace\":\"ns\",\"keys\":[\"a\",3]}");
	snprintf(text, sizeof(text), "{\"ticket\":7,\"nspace\":\"%s\",\"keys\":[]}", name);
	say_head(text);
	finish();
}

TAP_TEST(publish__no_more_than_the_store_holds)
{
	size_t size = 33u << 20; /* two of these are more than 64 MiB */
	char *body = malloc(size + 1);

	must(body != NULL);
	memset(body, 'x', size);
	memcpy(body, "a=", 2);
	memcpy(body + size - 1, "\n", 2);
	pmix_open(2, 2);
	publish(0, "", body);
	answers(PMIX_SUCCESS, "");
	body[0] = 'b';
	publish(0, "", body);
	answers(PMIX_ERR_OUT_OF_RESOURCE, "");
	/* There is room again. */
	say(OP_UNPUBLISH, 0, ",\"keys\":[\"a\"]", "");
	answers(PMIX_SUCCESS, "");
	publish(0, "", body);
	answers(PMIX_SUCCESS, "");
	free(body);
	finish();
}

/* The options of PMIx come in one message with the value, and are not kept. */
TAP_TEST(publish__options_take_nothing_off_a_value)
{
	static const char option[] = "\n" PMIX_RANGE "=x\n";
	size_t size = 33u << 20; /* two of these are more than 64 MiB */
	char *body = malloc(size + sizeof(option));

	must(body != NULL);
	memset(body, 'x', size);
	memcpy(body, "a=", 2);
	memcpy(body + size, option, sizeof(option));
	pmix_open(2, 2);
	publish(0, "", body);
	answers(PMIX_SUCCESS, "");
	body[0] = 'b';
	publish(0, "", body);
	answers(PMIX_ERR_OUT_OF_RESOURCE, "");
	free(body);
	finish();
}

TAP_TEST(unpublish__only_its_own)
{
	pmix_open(2, 2);
	publish(0, "", "a=one\nb=two\n");
	answers(PMIX_SUCCESS, "");
	publish(1, "", "c=three\n");
	answers(PMIX_SUCCESS, "");
	say(OP_UNPUBLISH, 1, ",\"keys\":[\"a\",\"c\"]", "");
	answers(PMIX_SUCCESS, "");
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\",\"b\",\"c\"]", "");
	answers(PMIX_SUCCESS, "2\n0:a=one\n0:b=two\n");
	/* No keys: all that it has given. */
	say(OP_UNPUBLISH, 0, ",\"keys\":[]", "");
	answers(PMIX_SUCCESS, "");
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\",\"b\"]", "");
	answers(PMIX_ERR_NOT_FOUND, "");
	finish();
}

TAP_TEST(lookup__waits_for_the_last_key)
{
	pmix_open(2, 2);
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\",\"b\"],\"wait\":true", "");
	ok(!fake.first);
	publish(1, "", "a=one\n");
	answers(PMIX_SUCCESS, "");
	ok(!fake.first);
	publish(1, "", "b=two\n");
	answers(PMIX_SUCCESS, "");
	answers(PMIX_SUCCESS, "2\n1:a=one\n1:b=two\n");
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\"],\"wait\":true", "");
	answers(PMIX_SUCCESS, "1\n1:a=one\n");
	finish();
}

TAP_TEST(lookup__waits_for_so_long)
{
	pmix_open(2, 2);
	say(OP_LOOKUP, 0, ",\"keys\":[\"a\"],\"wait\":true,\"timeout\":1", "");
	ok(!fake.first);
	stillclock_ns += 999999999u;
	fake_turn();
	ok(!fake.first);
	stillclock_ns += 2;
	fake_turn();
	answers(PMIX_ERR_TIMEOUT, "");
	publish(1, "", "a=one\n");
	answers(PMIX_SUCCESS, "");
	finish();
}

/* ---- where the rank is ---- */

/* The question that is sent, as sorted JSON without its ticket, and its body; the ticket. */
static json_int_t asked(const char *want, const char *body)
{
	json_int_t ticket;
	char *text;

	fake_turn();
	if (!ok(fake.first != NULL))
		return 0;
	ticket = json_integer_value(json_object_get(fake.first->head, "ticket"));
	json_object_del(fake.first->head, "ticket");
	json_object_del(fake.first->head, "nspace");
	text = json_dumps(fake.first->head, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(text, want);
	is_str(fake.first->body, body);
	free(text);
	fake_drop();
	return ticket;
}

TAP_TEST(publish_upcall__data_and_persistence)
{
	pmix_proc_t proc;
	pmix_info_t infos[2];

	pmix_open(2, 2);
	proc = pmix_proc(1);
	pmix_text_info(&infos[0], "a", "one");
	pmix_int_info(&infos[1], PMIX_PERSISTENCE, 1); /* of a wrong type */
	is_int(publish_upcall(&proc, infos, 2, pmix_done, &pmix), PMIX_SUCCESS);
	asked("{\"count\":2,\"op\":\"publish\",\"persistence\":4,\"rank\":1}",
	      "a=one\n" PMIX_PERSISTENCE "=-\n");
	is_int(PMIX_PERSIST_SESSION, 4);
	infos[1].value.type = PMIX_PERSIST;
	infos[1].value.data.persist = PMIX_PERSIST_FIRST_READ;
	is_int(publish_upcall(&proc, infos, 2, pmix_done, &pmix), PMIX_SUCCESS);
	asked("{\"count\":2,\"op\":\"publish\",\"persistence\":1,\"rank\":1}",
	      "a=one\n" PMIX_PERSISTENCE "=-\n");
	pmix.pack = PMIX_ERR_PACK_FAILURE;
	is_int(publish_upcall(&proc, infos, 2, pmix_done, &pmix), PMIX_ERR_PACK_FAILURE);
	fake_turn();
	ok(!fake.first);
	free(infos[0].value.data.string);
	finish();
}

static void lookup_with(const pmix_info_t *info, const char *want)
{
	pmix_proc_t proc = pmix_proc(1);
	char *keys[] = {(char *)(uintptr_t) "a", (char *)(uintptr_t) "b", NULL};

	is_int(lookup_upcall(&proc, keys, info, 1, NULL, &pmix), PMIX_SUCCESS);
	asked(want, "");
}

TAP_TEST(lookup_upcall__options)
{
	static const char bare[] = "{\"keys\":[\"a\",\"b\"],\"op\":\"lookup\",\"rank\":1}";
	static const char waits[] =
		"{\"keys\":[\"a\",\"b\"],\"op\":\"lookup\",\"rank\":1,\"wait\":true}";
	pmix_info_t info;

	pmix_open(2, 2);
	pmix_int_info(&info, PMIX_WAIT, 0);
	lookup_with(&info, waits);
	info.value.type = PMIX_UNDEF;
	lookup_with(&info, waits);
	info.value.type = PMIX_BOOL;
	info.value.data.flag = true;
	lookup_with(&info, waits);
	info.value.data.flag = false;
	lookup_with(&info, bare);
	info.value.type = PMIX_STRING;
	lookup_with(&info, bare);
	pmix_int_info(&info, PMIX_TIMEOUT, 5);
	lookup_with(&info, "{\"keys\":[\"a\",\"b\"],\"op\":\"lookup\",\"rank\":1,\"timeout\":5}");
	info.value.data.integer = 0;
	lookup_with(&info, bare);
	info.value.data.integer = -5;
	lookup_with(&info, bare);
	finish();
}

static void found(pmix_status_t status, pmix_pdata_t data[], size_t n, void *arg)
{
	pmix_done(status, arg);
	pmix.size = n;
	pmix.text[0] = 0;
	for (size_t i = 0; i < n; i++)
		snprintf(pmix.text + strlen(pmix.text), 64, "%u:%s=%s ", data[i].proc.rank,
			 data[i].key, data[i].value.data.string);
}

static void found_is(const char *body, pmix_status_t status, const char *want)
{
	pmix_proc_t proc = pmix_proc(1);
	char *keys[] = {NULL};
	json_int_t ticket;
	json_t *head;

	is_int(lookup_upcall(&proc, keys, NULL, 0, found, &pmix), PMIX_SUCCESS);
	ticket = asked("{\"keys\":[],\"op\":\"lookup\",\"rank\":1}", "");
	head = json_pack("{s:I, s:i}", "ticket", ticket, "status", PMIX_SUCCESS);
	ask_answered(&fake.step, head, body, strlen(body));
	json_decref(head);
	is_int(pmix.status, status);
	is_str(pmix.text, want);
}

TAP_TEST(lookup_upcall__what_the_root_has_found)
{
	pmix_open(2, 2);
	found_is("2\n3:a=one\n0:b=two\n", PMIX_SUCCESS, "3:a=one 0:b=two ");
	found_is("0\n", PMIX_ERR_UNPACK_FAILURE, "");
	found_is("-1\n", PMIX_ERR_UNPACK_FAILURE, "");
	found_is("65537\n", PMIX_ERR_UNPACK_FAILURE, "");
	/* Two of the first, and the number of each of the others. */
	is_int(pmix.n_unpacked, 2 + 3);
	found_is("2\n3:a=one\n", PMIX_ERR_UNPACK_FAILURE, "");
	is_int(pmix.n_done, 5);
	finish();
}
