# SPDX-License-Identifier: BSD-3-Clause
"""queue - the command scqueue: the jobs there are, and those there were."""

import pwd

from pmcommand import Failure, wanted

from . import command, words

NAME = "scqueue"


def _uid(text):
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError:
        pass
    if text.isascii() and text.isdigit():
        return int(text)
    raise Failure(command.USAGE, f"{NAME}: --user {text}: there is no such user here; write a name or a number")


def _since(job):
    """When it came into its state, in seconds of the clock."""
    return job.get("ended") or job["started"] or job["submitted"]


def _image(job, now):
    """The last checkpoint of a job that runs, as a clause."""
    image = job.get("checkpoint")
    if not image:
        return ""
    age = words.duration(now - image["taken"])
    return f"; checkpoint {image['round']}, {words.size(image['bytes'])}, {age} ago"


def _remark(job, now):
    """The reason why a job waits, the hosts on which it runs with its last checkpoint, or how it ended."""
    if job["state"] == "queued":
        return job.get("why") or f"place {job.get('position', 0) + 1} in the queue"
    if job["state"] != "ended":
        return words.hosts([host["name"] for host in job["hosts"]]) + _image(job, now)
    if "code" not in job:
        return "-"
    return job["text"] or ("went well" if not job["code"] else f"exit code {job['code']}")


def row(job, now):
    """A job as it is shown: an object with texts."""
    hosts = job["n_hosts"] if "n_hosts" in job else len(job.get("hosts", ()))
    return {"id": job["id"], "user": words.user(job["uid"]), "state": job["state"], "class": job.get("class", "-"),
            "ranks": f"{job['ranks']} x {hosts}" if hosts else str(job["ranks"]), "name": job.get("name") or "-",
            "since": words.duration(now - _since(job)), "remark": _remark(job, now)}


def chosen(jobs, uid=None):
    """Those of one user (None: of all): ended ones last."""
    return sorted((job for job in jobs if uid in (None, job["uid"])),
                  key=lambda job: (job["state"] == "ended", -job["id"] if job["state"] == "ended" else job["id"]))


def _parser():
    parser = command.parser(NAME, "Shows the jobs of the cluster.")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("-a", "--all-users", action="store_true", help="jobs of all users; the default")
    who.add_argument("-u", "--user", metavar="USER", help="only jobs of this user")
    parser.add_argument("--history", metavar="N", type=_number, default=0, help="also the last N jobs that ended")
    parser.add_argument("--watch", metavar="SECONDS", nargs="?", type=command.seconds, const=2.0,
                        help="again and again, every 2 s if no other time is given; ^C ends it")
    return parser


@wanted("number from 1 to 100000")
def _number(text):
    value = int(text)
    if not 1 <= value <= 100000:
        raise ValueError
    return value


def _work(args):
    uid = None if args.user is None else _uid(args.user)
    link = command.connect(NAME, args)

    def look():
        head = {"op": "jobs", "history": args.history} if args.history else {"op": "jobs"}
        answer = command.ask(NAME, link, head)
        jobs = chosen(answer["jobs"], uid)
        return jobs if args.json else [row(job, words.now(answer)) for job in jobs]

    if args.watch:
        command.watch(NAME, args, command.every(args.watch, look), "jobs_drawing")
    else:
        command.tell(NAME, args, look(), "jobs")
    return command.OK


def main():
    """Exit code of scqueue."""
    args = _parser().parse_args()
    return command.run(NAME, lambda: _work(args))
