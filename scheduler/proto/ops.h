/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops - every message of the suite's daemons: the "op" of its head, its other fields, who sends it
 * to whom. A field in [ ] may be missing. Unknown fields are ignored, an unknown op is answered by
 * "error" (requests) or ends the link (everything else). Types: N number >= 0, I integer, B bool, S
 * string, {X} object as X.h says.
 *
 * Any request may be answered by {"op":"error", "error":S, "text":S}: error is a name of errno,
 * text a sentence with the thing, the place and the remedy, ready to be shown.
 */
#ifndef SCHEDULER_PROTO_OPS_H
#define SCHEDULER_PROTO_OPS_H

/* ---- users (scrun, scqueue, scancel, scinfo, sctop) to scored ---- */

/*
 * scrun: job:{job}. The job lives as long as this connection. dry_run B: nothing is kept; the
 * answer is "ok" with hosts [S], ranks [N], cores [[N]], cpus [[N]] (the machine's, [] = not bound)
 * as a job would have them now, or with waits S.
 */
#define OP_SUBMIT "submit"
/* Answers to it, in this order: */
#define OP_QUEUED "queued" /* id N, position N, [why S: what it waits for] */
/*
 * id N, leader S (address of the leader's scnoded), uid N, hosts [S], ranks [N per host], cores
 * [[N]]
 */
#define OP_PLACED "placed"
/*
 * id N, code I (exit code of scrun), text S ("" = went well; else the summary line), [statistics
 * {}]
 */
#define OP_ENDED "ended"
/* scrun, its job: is suspended B. Others: id N too. Answer "ok". Owner or operator. */
#define OP_SUSPEND "suspend"
/*
 * id N or all B (all of the caller's), [signal N: sent to the ranks instead of ending]. Answer
 * "ok", count N.
 */
#define OP_CANCEL "cancel"
/*
 * [history N: jobs that ended, newest first]. Answer "jobs", jobs [..]: others' jobs without
 * program, arguments, directory, which are cut to 256 bytes; now_ns N: the clock that their times
 * are of.
 */
#define OP_JOBS "jobs"
/*
 * Answer "cluster": name S, version S, quantum_ns N, hosts [{host + state S, used cores N, jobs N,
 * late N, [lock {id N, uid N, reason S, since N}: exclusive], ...}], rows [[...]]
 */
#define OP_CLUSTER "cluster"
/*
 * [every_s N]: "activity" again and again: hosts, jobs with share of CPU, rows, late switches,
 * efficiency. For sctop. A user may have 8 such connections.
 */
#define OP_ACTIVITY "activity"
/* host S, state "up" or "drained", [text S]. Operators. Answer "ok". */
#define OP_DRAIN "drain"
#define OP_OK "ok"
#define OP_ERROR "error" /* error S, text S */

/* ---- scnoded to scored (role "scnoded"), one connection, for ever ---- */

/* host {host}, jobs [{id N, state S}] that run there already. Answer "registered" or "error". */
#define OP_REGISTER "register"
/* heartbeat_s N, [quantum_ns N], keep [N]: jobs to go on; all others are ended */
#define OP_REGISTERED "registered"
/*
 * Every heartbeat_s, both ways; nothing for 3 of them = gone. clock_ns N, load N, memory_free N,
 * [switches {late N, worst_ns N, lost_ns N, done N}], jobs [{id N, cpu_ns N, is_idle B, received N,
 * sent N}]
 */
#define OP_BEAT "beat"
/*
 * scored: id N, here N; body: {order} as text, the same for all hosts but for here. Answered by
 * "started" or "failed".
 */
#define OP_START "start"
#define OP_STARTED "started" /* id N */
#define OP_FAILED "failed"   /* id N, error S, text S, code I */
/* scored: id N, text S: ends the job on this host, whatever state it is in */
#define OP_STOP "stop"
#define OP_GONE "gone"     /* scnoded: id N, nothing of it is left on this host; cpu_ns N */
#define OP_SIGNAL "signal" /* id N, signal N */
#define OP_SLOTS "slots"   /* scored: table {slots}; no answer */
/* The leader's scnoded, when the job is over: id N, code I, text S, [statistics {}] */
/* OP_ENDED */

/* ---- scnoded and scstepd, local link; scstepd is given descriptor 3 ---- */

/* scnoded: order {order}, host {name, cpus S (list of the machine's numbers), tmpdir S},
 * is_leader B, [memory {kills S, text S}]. kills is a file with a line "oom_kill N"; text tells why
 * the job ends when N is not 0. */
/* OP_START */
/*
 * A scstepd whose scnoded came back, as its first message on RUNDIR/scnoded.sock: id N, pid N,
 * ranks [pid N]
 */
#define OP_REJOIN "rejoin"
#define OP_REJOINED "rejoined" /* scnoded's answer: goes on */
/*
 * scstepd: pids [N]: children that wait to be put among those that are frozen (ranks cgroup).
 * Answer "adopted" or "failed".
 */
#define OP_ADOPT "adopt"
#define OP_ADOPTED "adopted"
/*
 * scnoded: with one descriptor: somebody who asked for this job at the host's port; preamble read.
 */
#define OP_DOOR "door"
/*
 * scnoded: reason S, [code I]: everything ends (cancel, time, another host is lost). scstepd
 * answers by ending.
 */
/* OP_STOP */
/*
 * scstepd to scnoded: asks to kill what is left in the ranks cgroup; answered by OP_KILLED when it
 * is empty.
 */
#define OP_KILL "kill"
#define OP_KILLED "killed"
/*
 * scstepd: OP_STARTED, OP_FAILED, OP_ENDED as above. scnoded: OP_SIGNAL, OP_SUSPENDED {is_suspended
 * B}
 */

/* ---- scrun to the leader's scstepd (role "scrun", job = id) ---- */

#define OP_ATTACH "attach"     /* id N, columns N, rows N (of a terminal, 0 = none) */
#define OP_ATTACHED "attached" /* hosts [S], [bindings [S per rank]] */
#define OP_IN "in"             /* body: standard input; empty = its end. [rank I] */
#define OP_IN_ROOM "in_room" /* leader: bytes N more may be sent (credit; starts with LINK_FULL) */
#define OP_OUT "out"         /* leader: world N, rank N, stream N (1, 2); body, empty = its end */
#define OP_WINDOW "window"   /* scrun: columns N, rows N */
/* scrun: OP_SIGNAL signal N; answered by "ok" at once. */
/*
 * scrun, of a job that is debugged: its debugger has seen the ranks, who may leave MPI_Init. The
 * leader to all hosts, too.
 */
#define OP_RELEASE "release"
/* Leader: */
/*
 * when all are started; if the job is debugged, when all run their programs: ranks [{rank N, host
 * N, pid N, executable S}]: MPIR's table
 */
#define OP_PROCESSES "processes"
/*
 * world N, rank N, host S, status N (of waitpid), in_mpi B, has_come B, [max_rss N, group_peak N:
 * bytes]
 */
#define OP_RANK_ENDED "rank_ended"
#define OP_NOTE "note" /* text S: a line for the user's standard error */
/* OP_ENDED code I, text S: the last one. scrun closes. */

/*
 * ---- scstepd to scstepd of one job (role "scstepd", job = id), along the tree of scstepd/tree.h
 * ----
 */

#define OP_JOIN "join" /* child: id N, key S, host N (index) */
/* All others carry "from" N and "to" I (index of the host; -1 = all), and are passed on unread.
 * world N counts the PMIx namespaces of the job: 0 = what scrun started, others were spawned. */
/* to 0: host's ranks are there, forked, not let go. [error S, text S, code I, rank N] */
#define OP_READY "ready"
#define OP_GO "go" /* to all */
/* to 0, if the job is debugged: world 0's ranks of this host run their programs */
#define OP_RUNNING "running"
/* combined on the way up: world N, set S (participants), count N, body: data */
#define OP_FENCE "fence"
#define OP_BARRIER "barrier" /* the same for PMI-1 */
/* to all: kind S (op), set S, serial N, error N (errno or 0), body: data of all */
#define OP_FENCED "fenced"
#define OP_MODEX "modex"           /* world N, rank N, ticket N: data of a rank is wanted */
#define OP_MODEX_DATA "modex_data" /* ticket N, status I, body */
#define OP_PUBLISH "publish"       /* to 0: and "lookup", "unpublish": ticket N, ... */
#define OP_LOOKUP "lookup"
#define OP_UNPUBLISH "unpublish"
/* to 0: ticket N, nspace S; the answer's body is what OP_PROCESSES has as ranks */
#define OP_QUERY "query"
#define OP_ANSWER "answer"   /* ticket N, status I, body */
#define OP_CONNECT "connect" /* and "disconnect": as a fence over worlds */
#define OP_DISCONNECT "disconnect"
#define OP_SPAWN "spawn" /* to 0: ticket N, apps; then OP_WORLD to all */
#define OP_WORLD "world" /* to all: world N, parent, apps, placement */
/* to 0, who tells all: code I, source, range N, count N, body: PMIx's infos */
#define OP_EVENT "event"
#define OP_ABORT "abort" /* to 0: world N, rank N, code I, text S */
/* to 0: Open MPI's ranks on this host do not use mtl/pm, which the job names */
#define OP_WITHOUT_PM "without_pm"
#define OP_ABSENT "absent" /* to all: world N, rank N ended well and never came to MPI */
/* from 0 to a host: bytes N more of output may be sent; each starts with what stdio.h says. */
#define OP_OUT_ROOM "out_room"
/* to 0: OP_OUT, OP_RANK_ENDED, OP_IN_ROOM; from 0: OP_IN, OP_SIGNAL, OP_STOP, OP_WINDOW */

/* ---- leases of hosts: scout, msgb, msgblock to scored ---- */

/*
 * hosts [S], [count N: any that many of them, consecutive in the order given; scatter B: need not
 * be]. mode S "exclusive" (keeps jobs and all others away) or "shared" (beside jobs). reason S,
 * place S (who holds it, for people: host and pid), lease_s N, [wait B], [force B: operators].
 * Answers: "waiting" as often as it changes, then "locked"; or "error".
 */
#define OP_LOCK "lock"
#define OP_WAITING "waiting" /* position N, holders [S: sentences] */
/* id N, hosts [S], lease_s N: it ends when it is not renewed for so long */
#define OP_LOCKED "locked"
/* id N; owner. Answer "ok"; or "error" ENOENT, text: how it was lost, by whom */
#define OP_RENEW "renew"
#define OP_UNLOCK "unlock" /* id N; owner or operator. Answer "ok" */
/* Answer "locks": locks [..], waiting [..], jobs [..], now_ns N: as in "jobs".
 *   locks    {id N, uid N, hosts [S], mode S, reason S, place S, since N, left_s N}
 *   waiting  {uid N, hosts [S], [count N], mode S, reason S, place S, since N, position N}
 *   jobs     {id N, uid N, hosts [S]} */
#define OP_LOCKS "locks"

/*
 * scored to scnoded: [uid N, text S: "locked by ann since ...: reason"]: who has the host alone;
 * none: nobody. At a change.
 */
#define OP_HOST_LOCK "host_lock"

/* ---- scout to scnoded (role "scout") ---- */

/*
 * Starts a scremote of the user's, who has the connection from then on: OP_REMOTE_READY is its
 * first word.
 */
#define OP_REMOTE "remote"

/*
 * Exit code of a scremote whose connection ended before its commands did: nothing of them shall be
 * left.
 */
#define REMOTE_EXIT_CUT 3

/*
 * ---- scout and scremote; in a session also with host N in each head, to and from the session's
 * socket ----
 */

/* version S, host S, pid N, [key S: as it was called with] */
#define OP_REMOTE_READY "remote_ready"
/*
 * scout: id N (> 0), argv [S], directory S, env {S}, stdin B (OP_IN will come), [merge_stderr B:
 * one stream]. A directory that is not there: home, or OP_ENDED with an error if
 * [is_directory_needed B].
 */
#define OP_RUN "run"
/*
 * scout: OP_IN id N, body; empty = its end; first LINK_FULL bytes, more as agent's OP_IN_ROOM id N,
 * bytes N allows.
 */
/* Agent: OP_OUT id N, stream N, body; the same credit by scout's OP_OUT_ROOM id N, bytes N. */
/*
 * Agent, the last of a run: OP_ENDED id N, status N (of waitpid), [error S, text S: it could not be
 * started]
 */
/*
 * scout: OP_SIGNAL id N, signal N: to the process group; 9: to everything that the command has
 * started. Any ends an OP_GET.
 */
#define OP_PING "ping" /* scout: id N; answered by OP_PONG id N */
#define OP_PONG "pong"
/* scout: listen for a parent in a tree of OP_PUT. Answer OP_DOOR_OPEN port N. */
#define OP_DOOR_WANTED "door_wanted"
#define OP_DOOR_OPEN "door_open"
/*
 * scout, or the parent: id N, path S, mode N, size N, sha256 S, [mtime_ns N], children [{host S,
 * address S, children [..]}]. Whatever comes of it, each host answers scout itself: OP_FILE_DONE or
 * OP_FAILED; and takes all the data.
 */
#define OP_PUT "put"
/* id N, body; empty = the end. Credit by OP_IN_ROOM (put), OP_OUT_ROOM (get) */
#define OP_DATA "data"
#define OP_CUT "cut"   /* agent: id N, hosts [S] that get nothing by this tree, text S */
#define OP_GET "get"   /* scout: id N, path S. Answer OP_FILE, data, OP_FILE_DONE; or OP_FAILED */
#define OP_FILE "file" /* id N, size N, mode N, mtime_ns N */
#define OP_FILE_DONE "file_done" /* id N, sha256 S: it is in its place; of OP_GET: all was sent */

/* ---- a scout session to a command in it, over a unix socket, beside the messages above ---- */

/*
 * The first: hosts [S], gone [[host N, why S]], pid N, since N, lock S, directory S, [programs S],
 * [address S], stdin [N, N]: its input's device and file.
 */
#define OP_SESSION "session"
/* OP_GONE host N, text S: its agent is lost */

#endif
