// SPDX-License-Identifier: BSD-3-Clause
#include "mpi-glue/common/ways.h"

#define MIN_LOG 13

/*
 * A copy takes a quarter of this for a byte at most, or the sender is away: it computes, and
 * answers when it is back.
 */
#define AWAY_PS 2000
/* So many messages are read then. */
#define AWAY_READS 1024

_Static_assert(WAYS_MIN == 1 << MIN_LOG, "the first class begins there");

unsigned ways_class(size_t size)
{
	unsigned log = 63 - (unsigned)__builtin_clzll(size | WAYS_MIN);

	return log - MIN_LOG < WAYS_CLASSES ? log - MIN_LOG : WAYS_CLASSES - 1;
}

/* The burst is over: notes what it took, if it was one message. */
static void close_burst(struct ways *w)
{
	if (!w->n)
		return;
	w->were_many = w->n > 1;
	if (!w->were_many && !w->is_spoiled && w->end_ns > w->since_ns)
		choice_note(&w->of[w->class], w->way, w->end_ns - w->since_ns, w->bytes);
}

/* True: a burst begins, of which the way is not known yet. */
static bool join(struct ways *w, size_t size, uint64_t since_ns)
{
	w->open++;
	if (w->open > 1 || (w->n && since_ns <= w->end_ns)) {
		w->n++;
		w->bytes += size;
		return false;
	}
	close_burst(w);
	w->class = ways_class(size);
	w->n = 1;
	w->is_spoiled = false;
	w->is_both = false;
	w->bytes = size;
	w->since_ns = since_ns;
	return true;
}

enum way ways_begin(struct ways *w, size_t size, uint64_t since_ns, uint64_t now_ns, bool is_both)
{
	bool is_first = join(w, size, since_ns);

	if (is_first)
		w->asked_ns = now_ns;
	w->is_asked = true;
	/*
	 * our messages may all have gone before the last of the other side comes: it is busy with
	 * them still
	 */
	w->is_both |= is_both;
	if (w->away) {
		w->away--;
		w->way = WAY_READ;
	} else if (is_first && !w->were_many)
		w->way = choice_pick(&w->of[w->class]);
	else
		w->way = w->is_both ? WAY_READ : WAY_COPY;
	return w->way;
}

bool ways_note(struct ways *w, size_t size, uint64_t since_ns, enum way way, enum way *ret_next)
{
	if (!join(w, size, since_ns))
		return false;
	w->way = way;
	w->is_asked = false;
	if (w->were_many)
		return false;
	*ret_next = choice_pick(&w->of[w->class]);
	return true;
}

void ways_end(struct ways *w, uint64_t now_ns)
{
	w->open--;
	w->end_ns = now_ns;
	if (w->is_asked && w->way == WAY_COPY && (now_ns - w->asked_ns) * 1000 > w->bytes * AWAY_PS)
		w->away = AWAY_READS;
}

void ways_spoil(struct ways *w)
{
	w->is_spoiled = true;
}
