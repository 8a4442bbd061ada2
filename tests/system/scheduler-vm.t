#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scheduler where cgroups are v2 alone, then where they are v1 alone: a virtual machine of one host. Checks that a
rank is in its job's groups, the limits of processes and memory, switching, and that nothing is left of the jobs.
Nothing here is measured. TAP."""
import json
import os
import re
import select
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[1:1] = [f"{HERE}/../vm"]
import vmlab                                                            # noqa: E402
from systest import BUILD, ROOT, Tap                                    # noqa: E402
from vmtest import need_guests                                          # noqa: E402

MEMORY_MIB = 500
EVENT_S = 60            # what happens in a second on a real machine
DAEMONS_S = 600
PROCESSES = 24
ENVIRONMENT = f"""
export PATH={BUILD}/bin:{ROOT}/scheduler/ctl:$PATH SCORE_SERVER=127.0.0.1 SCORE_MUNGE_SOCKET=/run/munge/socket
"""
MUNGED = """
mkdir -m 755 /run/munge && head -c 64 /dev/urandom >/run/munge/key && chmod 600 /run/munge/key
munged --force --socket=/run/munge/socket --key-file=/run/munge/key --pid-file=/run/munge/pid \\
    --log-file=/run/munge/log --seed-file=/run/munge/seed
"""
# Takes controllers back from v2 first: v2 keeps those that it has handed to groups, even when it is unmounted. It keeps
# memory as long as pages are charged to groups that are gone; nothing tells when the last one is free.
V1 = """
rmdir /sys/fs/cgroup/openscore && echo -pids -memory >/sys/fs/cgroup/cgroup.subtree_control || exit 1
umount /sys/fs/cgroup && mount -t tmpfs cgroup /sys/fs/cgroup
for each in freezer cpuacct pids; do
    mkdir /sys/fs/cgroup/$each && mount -t cgroup -o $each cgroup /sys/fs/cgroup/$each || exit 1
done
mkdir /sys/fs/cgroup/memory
for try in $(seq 50); do
    sync; echo 3 >/proc/sys/vm/drop_caches
    mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory 2>/tmp/why && exit 0
    sleep 0.2
done
cat /tmp/why; exit 1
"""
# Starts processes until it may not; says how many came to be.
BOMB = "import os, time\nn = 0\ntry:\n    while n < 100:\n        if not os.fork():\n            time.sleep(600)\n" \
       "        n += 1\nexcept BlockingIOError:\n    pass\nprint('born', n, flush=True)"
# Spins until the other job is seen to have counted too.
SPIN = "import os, sys, time\nmine, other = sys.argv[1:]\nn = 0\nend = time.time() + 60\n" \
       "while time.time() < end and not (n > 3 and os.path.exists(other)):\n    n += 1\n" \
       "    sum(range(100000))\n    if n == 4:\n        open(mine, 'w').close()\n" \
       "print('shared' if os.path.exists(other) else 'alone')"
tap = Tap()


class Daemons:
    """scored and scnoded in the guest, for the life of a `with`."""

    def __init__(self, guest, form):
        self.guest, self.form = guest, form
        self.tasks = []

    def __enter__(self):
        scored = f"exec scored --listen 127.0.0.1:7710 --state /run/scored-{self.form}"
        scnoded = f"exec scnoded --server 127.0.0.1 --name a --transient --processes {PROCESSES}"
        self.tasks = [self.guest.start(ENVIRONMENT + command, DAEMONS_S) for command in (scored, scnoded)]
        tap.ok(self.await_text(0, f"cgroups {self.form}"), f"{self.form}: the host registers, and says what it has",
               self.said())
        return self

    def await_text(self, task, text):
        end = time.monotonic() + EVENT_S
        while text not in self.tasks[task].text():
            if time.monotonic() > end or self.tasks[task].is_over():
                return False
            select.select([], [], [], 0.1)      # the guest tells by a file only
        return True

    def said(self):
        return "\n".join(task.text() for task in self.tasks)

    def __exit__(self, *_):
        self.guest.must("kill $(pidof scnoded)")
        code, _ = self.tasks[1].wait()
        self.guest.must("kill $(pidof scored)")
        tap.equal([code, self.tasks[0].wait()[0]], [0, 0], f"{self.form}: the daemons end")


def run(guest, *words, more=""):
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return guest.run(f"{ENVIRONMENT}\n{more}\nexec scrun {quoted}", EVENT_S)


def groups(guest, form):
    code, text = run(guest, "-nodes=1x1", "/bin/cat", "/proc/self/cgroup")
    wanted = [r"0::"] if form == "v2" else [r"\d+:freezer:", r"\d+:cpuacct:", r"\d+:pids:", r"\d+:memory:"]
    tap.ok(code == 0 and all(re.search(rf"^{one}/openscore/job-\d+/ranks$", text, re.M) for one in wanted),
           f"{form}: a rank is in the job's group", text)


def bomb(guest, form):
    code, text = run(guest, "-nodes=1x1", "/usr/bin/python3", "-c", BOMB)
    born = re.search(r"born (\d+)", text)
    # Itself and an eventual helper are among them.
    tap.ok(code == 0 and born and PROCESSES - 3 <= int(born[1]) < PROCESSES, f"{form}: no more processes than allowed",
           f"{code} {text}")


def memory(guest, form):
    code, text = run(guest, "-nodes=1x1", "-statistics", "/usr/bin/python3", "-c", "len(bytes(range(256)) * 81920)")
    found = re.search(r"peak memory of a rank: ([\d.]+) MiB", text)
    tap.ok(code == 0 and found and 20 < float(found[1]) < 100, f"{form}: -statistics tells the memory of a rank", text)
    whole = re.search(r"peak memory of all on a: ([\d.]+) MiB", text)
    if form == "v2":
        tap.ok(whole and 20 < float(whole[1]) < 100, f"{form}: and of all on the host", text)


def glutton(guest, form):
    """Memory beyond the limit: the kernel ends the rank, and the job's one line tells why."""
    code, text = run(guest, "-nodes=1x1,memory=48M", "/usr/bin/python3", "-c", "len(bytes(range(256)) * 409600)")
    tap.ok(code == 137 and "host a" in text and "48 MiB" in text and "--memory" in text,
           f"{form}: no more memory than allowed", f"{code} {text}")


def switching(guest, form):
    """Two jobs that want the one core: both get on, by turns."""
    jobs = [guest.start(f"{ENVIRONMENT}\nexec scrun -nodes=1x1 /usr/bin/python3 -c \"$SPIN\" /tmp/{form}-{mine} "
                        f"/tmp/{form}-{other}".replace("$SPIN", SPIN.replace('"', '\\"')), 2 * EVENT_S)
            for mine, other in (("one", "two"), ("two", "one"))]
    ends = [job.wait() for job in jobs]
    tap.ok(all(code == 0 and "shared" in text for code, text in ends), f"{form}: two jobs share the core", str(ends))
    host = json.loads(guest.must(f"{ENVIRONMENT}\nscinfo --json"))
    tap.ok(host["hosts"][0]["switches"]["done"] > 0, f"{form}: by switches", str(host))


def nothing_left(guest, form):
    left = guest.must("find /sys/fs/cgroup -name 'job-*' -type d; ls /run/openscore/jobs 2>&1")
    tap.equal(left.strip(), "", f"{form}: nothing is left of the jobs")


def judge(guest, form):
    with Daemons(guest, form):
        for part in (groups, bomb, memory, glutton, switching, nothing_left):
            part(guest, form)


def main():
    need_guests()
    with vmlab.Lab(BUILD, 1, [], memory_mib=MEMORY_MIB) as lab:
        guest = lab.guests[0]
        guest.must(MUNGED)
        judge(guest, "v2")
        guest.must(V1)
        judge(guest, "v1")
    return tap.end()


sys.exit(main())
