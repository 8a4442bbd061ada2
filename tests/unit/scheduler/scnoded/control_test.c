// SPDX-License-Identifier: BSD-3-Clause
/* control: messages of a scstepd that is the test, which says what it likes. */
#include "scheduler/scnoded/control.h"

#include "tests/unit/scheduler/scnoded/control_world.h"

#define WORDS_MAX 1000 /* bytes of a text that are passed on */
#define OTHER_VERSION "its scstepd is of another version than scnoded"

/* With a text of @n times @letter. */
static void says_much(const char *letter, size_t n)
{
	char text[2 * WORDS_MAX + 100] = "{\"op\":\"failed\",\"id\":7,\"code\":1,\"text\":\"";

	for (size_t i = 0; i < n; i++)
		note(text, sizeof(text), "%s", letter);
	note(text, sizeof(text), "\"}");
	says(text);
}

TAP_TEST(control_tie__no_memory)
{
	begin_alone();
	w.has_no_memory = true;
	control_tie(&w.step, dup(0));
	is_str(w.left, "no memory;");
	ok(!w.step.control);
	finish();
}

/* ---- adopt ---- */

TAP_TEST(control_adopt__processes_of_the_job)
{
	begin();
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[1002,1000]}");
	is_str(w.put, "1002;1000;");
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[]}");
	is_str(w.sent, "adopted;adopted;");
	is_str(w.left, "");
	finish();
}

/* The pids that follow a wrong one are not put either. */
static void is_kept_out(const char *pid)
{
	char text[100], want[100];

	begin();
	snprintf(text, sizeof(text), "{\"op\":\"adopt\",\"id\":7,\"pids\":[1000,%s,1001]}", pid);
	snprintf(want, sizeof(want), "failed EPERM: process %s is not of this job;", pid);
	says(text);
	is_str(w.put, "1000;");
	is_str(w.sent, want);
	is_str(w.left, "");
	finish();
}

TAP_TEST(control_adopt__somebody_elses_process)
{
	is_kept_out("999");
	is_kept_out("1003");
	is_kept_out("1");
	is_kept_out("0");
	/* The lower half of such a number is one of the job. */
	is_kept_out("4294968297");
}

TAP_TEST(control_adopt__without_a_group_or_with_one_that_takes_nobody)
{
	begin();
	w.put_error = -ESRCH;
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[1000]}");
	is_str(w.sent, "failed EPERM: process 1000 cannot be put into the ranks' cgroup: "
		       "No such process;");
	w.sent[0] = '\0';
	w.put_error = 0;
	w.step.group = NULL;
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[1000]}");
	is_str(w.sent, "failed EPERM: process 1000 is not of this job;");
	is_int(w.n_put, 0);
	finish();
}

TAP_TEST(control_adopt__as_many_as_a_host_may_have)
{
	json_t *head, *pids = json_array();

	begin();
	for (int i = 0; i < ORDER_HOST_RANKS_MAX; i++)
		json_array_append_new(pids, json_integer(FIRST_PID));
	head = json_pack("{s:s, s:i, s:O}", "op", OP_ADOPT, "id", JOB, "pids", pids);
	w.links[0].events->message(&w.links[0], OP_ADOPT, head, "", 0, &w.step);
	is_int(w.n_put, ORDER_HOST_RANKS_MAX);
	json_array_append_new(pids, json_integer(FIRST_PID));
	w.links[0].events->message(&w.links[0], OP_ADOPT, head, "", 0, &w.step);
	is_int(w.n_put, ORDER_HOST_RANKS_MAX);
	is_str(w.sent, "adopted;failed EPERM: 4097 ranks at once; 4096 is the most;");
	json_decref(head);
	json_decref(pids);
	finish();
}

/* ---- kill ---- */

TAP_TEST(control_kill__until_nobody_is_left)
{
	begin();
	w.is_alive = true;
	says("{\"op\":\"kill\",\"id\":7}");
	is_int(w.n_kills, 1);
	pass(DESERTED_S / 10);
	is_int(w.n_kills, 2);
	pass(DESERTED_S * 1.1);
	is_int(w.n_kills, 3);
	/* Asked again, it has one answer. */
	says("{\"op\":\"kill\",\"id\":7}");
	is_int(w.n_kills, 4);
	is_str(w.sent, "");
	w.is_alive = false;
	pass(DESERTED_S * 1.1);
	is_str(w.sent, "killed;");
	pass(DESERTED_S * 1.1);
	is_str(w.sent, "killed;");
	is_int(w.n_kills, 4);
	finish();
}

TAP_TEST(control_kill__host_without_control_groups)
{
	begin();
	w.step.group = NULL;
	says("{\"op\":\"kill\",\"id\":7}");
	pass(DESERTED_S / 10);
	is_str(w.sent, "killed;");
	finish();
}

/* Then steps kills, and sweeps. */
TAP_TEST(control_kill__step_that_is_ended)
{
	begin();
	w.is_alive = true;
	says("{\"op\":\"kill\",\"id\":7}");
	w.step.is_leaving = true;
	pass(DESERTED_S * 1.1);
	is_int(w.n_kills, 1);
	w.is_alive = false;
	pass(DESERTED_S * 1.1);
	is_str(w.sent, "");
	ev_timer_stop(w.d.loop, &w.step.killing);
	says("{\"op\":\"kill\",\"id\":7}");
	is_int(w.n_kills, 1);
	ok(!ev_is_active(&w.step.killing));
	finish();
}

TAP_TEST(control_kill__scstepd_that_has_gone)
{
	begin();
	says("{\"op\":\"kill\",\"id\":7}");
	they_close(&w.links[0], 0);
	pass(DESERTED_S * 1.1);
	is_str(w.sent, "");
	ok(!ev_is_active(&w.step.killing));
	finish();
}

/* ---- news ---- */

TAP_TEST(control_started__is_told_once)
{
	begin();
	says("{\"op\":\"started\",\"id\":7}");
	ok(w.step.is_begun && !w.step.is_reported);
	says("{\"op\":\"started\",\"id\":7}");
	is_str(w.told, "started 7;");
	finish();
}

TAP_TEST(control_failed__first_word_counts)
{
	begin();
	says("{\"op\":\"failed\",\"id\":0,\"code\":126,\"text\":\"no such program\"}");
	ok(w.step.is_reported);
	says("{\"op\":\"failed\",\"id\":7,\"code\":1,\"text\":\"more\"}");
	says("{\"op\":\"ended\",\"id\":7,\"code\":0,\"text\":\"\"}");
	is_str(w.told, "failed 7 126 no such program;");
	finish();
}

TAP_TEST(control_ended__first_word_counts)
{
	begin();
	says("{\"op\":\"ended\",\"id\":7,\"code\":3,\"text\":\"rank 1 exited\"}");
	says("{\"op\":\"failed\",\"id\":7,\"code\":1,\"text\":\"more\"}");
	is_str(w.told, "ended 7 3 rank 1 exited;");
	finish();
}

/* Others know of their part only; a failure is told by each. */
TAP_TEST(control_ended__not_the_leader)
{
	begin();
	w.order.here = 1;
	says("{\"op\":\"ended\",\"id\":7,\"code\":3,\"text\":\"\"}");
	is_str(w.told, "");
	ok(w.step.is_reported);
	w.step.is_reported = false;
	says("{\"op\":\"failed\",\"id\":7,\"code\":3,\"text\":\"t\"}");
	is_str(w.told, "failed 7 3 t;");
	finish();
}

#define MIGRATED                                                                                   \
	"{\"op\":\"migrated\",\"id\":7,\"serial\":5,\"is_changed\":true,\"text\":\"\",\"stood_"    \
	"s\":0.02}"

TAP_TEST(control_migrated__once_for_a_request)
{
	begin();
	says(MIGRATED);
	w.step.change = 4;
	says(MIGRATED);
	is_str(w.told, "");
	w.step.change = 5;
	says(MIGRATED);
	says(MIGRATED);
	is_str(w.told, "migrated 7 5 1 0.020 ;");
	ok(!w.step.is_reported);
	finish();
}

TAP_TEST(control_failed__code_is_one_of_a_process)
{
	static const struct {
		const char *said;
		int told;
	} codes[] = {{"255", 255}, {"256", 0}, {"-1", 255}, {"9223372036854775807", 255}};
	char text[100], want[100];

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		begin();
		snprintf(text, sizeof(text),
			 "{\"op\":\"failed\",\"id\":7,\"code\":%s,\"text\":\"\"}", codes[i].said);
		snprintf(want, sizeof(want), "failed 7 %d ;", codes[i].told);
		says(text);
		is_str(w.told, want);
		finish();
	}
}

/* Bytes of its words that are passed on. */
static size_t passed_on(const char *letter, size_t n)
{
	size_t frame = strlen("failed 7 1 ;"), size;

	begin();
	says_much(letter, n);
	size = strlen(w.told) - frame;
	finish();
	return size;
}

TAP_TEST(control_failed__long_words_are_cut_between_letters)
{
	is_int(passed_on("x", WORDS_MAX - 1), WORDS_MAX - 1);
	is_int(passed_on("x", WORDS_MAX), WORDS_MAX);
	is_int(passed_on("x", WORDS_MAX + 1), WORDS_MAX);
	is_int(passed_on("\u20ac", WORDS_MAX / 3 + 1), WORDS_MAX / 3 * 3);
}

/* ---- nonsense ---- */

static void is_ended_for(const char *text, const char *complaint)
{
	char want[200];

	begin();
	snprintf(want, sizeof(want), "job 7: its scstepd: %s", complaint);
	says(text);
	is_str(w.said, want);
	is_str(w.left, OTHER_VERSION ";");
	is_str(w.told, "");
	is_str(w.sent, "");
	is_int(w.n_kills + w.n_put, 0);
	/* It is being ended: one line in the log is enough. */
	w.said[0] = '\0';
	says(text);
	is_str(w.said, "");
	finish();
}

TAP_TEST(control__messages_that_make_no_sense)
{
	is_ended_for("{\"op\":\"something_new\",\"id\":7}",
		     "\"something_new\" is no message that this version knows");
	is_ended_for("{\"id\":7}", "\"\" is no message that this version knows");
	/* Of scnoded itself. */
	is_ended_for("{\"op\":\"adopted\",\"id\":7}",
		     "\"adopted\" is no message that this version knows");
	is_ended_for("{\"op\":\"rejoin\",\"id\":7}", "it came back a second time");
}

TAP_TEST(control__fields_that_are_wrong)
{
	static const char *const wrong[][2] = {
		{"{\"op\":\"adopt\",\"id\":7}", "pids"},
		{"{\"op\":\"adopt\",\"id\":7,\"pids\":[-5]}", "pids"},
		{"{\"op\":\"adopt\",\"id\":7,\"pids\":[1000,\"1001\"]}", "pids"},
		{"{\"op\":\"adopt\",\"id\":7,\"pids\":1000}", "pids"},
		{"{\"op\":\"kill\"}", "id"},
		{"{\"op\":\"kill\",\"id\":0}", "id"},
		{"{\"op\":\"started\",\"id\":\"7\"}", "id"},
		{"{\"op\":\"failed\",\"id\":-1,\"code\":1,\"text\":\"t\"}", "id"},
		{"{\"op\":\"failed\",\"id\":7,\"text\":\"t\"}", "code"},
		{"{\"op\":\"ended\",\"id\":7,\"code\":1.5,\"text\":\"t\"}", "code"},
		{"{\"op\":\"ended\",\"id\":7,\"code\":1}", "text"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		begin();
		says(wrong[i][0]);
		okf(strstr(w.said, wrong[i][1]) != NULL, "%s: %s", wrong[i][0], w.said);
		is_str(w.left, OTHER_VERSION ";");
		okf(!*w.told && !*w.sent && !w.n_kills && !w.n_put, "%s", wrong[i][0]);
		finish();
	}
}

TAP_TEST(control__scstepd_that_does_not_read)
{
	begin();
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[1000]}");
	is_str(w.left, "");
	w.links[0].is_full = true;
	says("{\"op\":\"adopt\",\"id\":7,\"pids\":[1000]}");
	is_str(w.left, "its scstepd does not read;");
	finish();
}

/* ---- the end of the link ---- */

/* scnoded sees its end by the pidfd, unless that takes too long. */
TAP_TEST(control_closed__scstepd_that_ends)
{
	static const int errors[] = {0, ECONNRESET};

	for (int i = 0; i < 2; i++) {
		begin();
		they_close(&w.links[0], errors[i]);
		ok(!w.step.control);
		is_int(w.n_awaited, 1);
		is_str(w.left, "");
		finish();
	}
}

/* Its limit stays as it is. */
TAP_TEST(control_closed__scstepd_that_was_told_to_end)
{
	begin();
	w.step.is_stopping = true;
	they_close(&w.links[0], 0);
	ok(!w.step.control);
	is_int(w.n_awaited, 0);
	is_str(w.left, "");
	finish();
}

TAP_TEST(control_closed__scstepd_that_is_confused)
{
	begin();
	they_close(&w.links[0], EPROTO);
	is_str(w.left, "its scstepd on n1: that is why;");
	is_int(w.n_awaited, 0);
	finish();
	/* The reason is known already. */
	begin();
	w.step.is_reported = true;
	they_close(&w.links[0], EPROTO);
	is_str(w.left, "no reason;");
	finish();
}

TAP_TEST(control_closed__step_that_is_ended)
{
	begin();
	w.step.is_leaving = true;
	they_close(&w.links[0], 0);
	ok(!w.step.control);
	is_int(w.n_awaited, 0);
	finish();
	begin();
	w.step.pid = 0;
	they_close(&w.links[0], 0);
	is_int(w.n_awaited, 0);
	finish();
	begin();
	w.step.pid = 0;
	they_close(&w.links[0], EPROTO);
	is_str(w.left, "");
	finish();
}
