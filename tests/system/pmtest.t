#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""pmtest and scstest as users run them: under mpirun, by hand, across hosts of a lab; killed,
interrupted, started wrongly, fed with damaged data. TAP."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from systest import BUILD, ROOT, Tap, free_port, told

PMTEST, SCSTEST, PMSTAT = (f"{BUILD}/bin/{name}" for name in ("pmtest", "scstest", "pmstat"))
SCLAB = f"{ROOT}/tests/lab/sclab"
LAB = f"p{os.getpid()}"
MPI_FLAGS = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
UDP = "devices=self+udp,udp.rails=lo"
TESTS = ["latency", "bandwidth", "bidirectional", "rate", "read", "write", "atomic"]
NOISY = "fault=7:drop=2%:dup=1%:reorder=2%:corrupt=1%"
TIME_LIMIT = 60
tap = Tap()


def environment(options):
    return {**os.environ, "PM_OPTIONS": options} if options else dict(os.environ)


def run(*words, options=""):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIME_LIMIT,
                          env=environment(options), stdin=subprocess.DEVNULL)


def mpirun(ranks, *words, options=""):
    return run("mpirun", *MPI_FLAGS, "-np", str(ranks), *words, options=options)


def start(*words, options=""):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(options), stdin=subprocess.DEVNULL)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def wait_for(condition, seconds=10):
    """Polls a condition of another process that has no descriptor to wait on."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def listen(port, *more, options=""):
    """A listener that is ready."""
    listener = start(PMTEST, "--listen", str(port), *more, options=options)
    line = listener.stderr.readline()
    tap.ok(f"port {port}" in line, "the listener says its port", line)
    return listener


def end_of(process):
    """Waits for a process; its status, output and the time it took from now on."""
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += f"\nstill running after {TIME_LIMIT} s"
    return process.returncode, out, err, time.monotonic() - begin


def check_results(name, text, device, sizes):
    """JSON of every test and size with plausible numbers."""
    lines = json_lines(text)
    wanted = [(test, size) for test in TESTS for size in sizes if test != "atomic" or size == 8]
    tap.ok([(line["test"], line["size"]) for line in lines] == wanted, f"{name}: every test and size", text)
    tap.ok(all(line["device"] == device and line["checked"] for line in lines), f"{name}: by {device}", text)
    spread = [line["half_rtt_us"] for line in lines if line["test"] == "latency"]
    tap.ok(spread and all(0 < s["min"] <= s["median"] <= s["p90"] <= s["p99"] <= s["max"] for s in spread),
           f"{name}: percentiles ascend", str(spread))
    rates = [line for line in lines if line["test"] != "latency" and line["size"]]
    tap.ok(rates and all(abs(line["mb_per_s"] / line["mib_per_s"] - 1.048576) < 1e-4 for line in rates),
           f"{name}: MB and MiB agree", text)
    tap.ok(all(line["payload_per_packet"] > 1000 for line in lines), f"{name}: payload of a packet", text)


def under_mpirun():
    args = ["--size", "0,8,20000,4M", "--iterations", "10", "--json"]
    for device, options in (("shmem", ""), ("udp", UDP)):
        done = mpirun(2, PMTEST, *args, options=options)
        tap.ok(done.returncode == 0, f"mpirun, {device}: exit status", told(done))
        check_results(f"mpirun, {device}", done.stdout, device, [0, 8, 20000, 4 << 20])
    done = mpirun(3, PMTEST)
    tap.ok(done.returncode == 1 and "3 nodes" in done.stderr, "mpirun: three nodes are refused", told(done))


def alone():
    done = run(PMTEST, "--self", "--size", "0,8,20000,4M", "--iterations", "40", "--json")
    tap.ok(done.returncode == 0, "alone: exit status", told(done))
    check_results("alone", done.stdout, "self", [0, 8, 20000, 4 << 20])


def table():
    done = run(PMTEST, "--self", "--test", "latency,bandwidth", "--size", "8,1K", "--seconds", "0.05", "--histogram")
    rows = re.findall(r"^ +(8|1024) +[\d.]+ +[\d.]+", done.stdout, re.MULTILINE)
    tap.ok(rows == ["8", "1024"] * 2, "table: a row per test and size", done.stdout)
    tap.ok("MiB/s" in done.stdout and "median us" in done.stdout, "table: units", done.stdout)
    tap.ok(done.stdout.count("    up to") == 24, "table: histograms", done.stdout)


def by_hand():
    port = free_port()
    listener = listen(port, "--once")
    done = run(PMTEST, f"localhost:{port}", "--size", "8,20000", "--iterations", "50", "--json")
    tap.ok(done.returncode == 0, "by hand: exit status of the client", told(done))
    check_results("by hand", done.stdout, "shmem", [8, 20000])
    status, out, err, _ = end_of(listener)
    tap.ok(status == 0 and not out, "by hand: --once ends well and prints nothing", err)


def running_client(port, options):
    """A client in the middle of a long measurement."""
    client = start(PMTEST, f"127.0.0.1:{port}", "--test", "latency,bandwidth", "--size", "8,64K", "--seconds",
                   "20", "--no-check", options=options)
    return client, client.stdout.readline()


def killed(options, device):
    port = free_port()
    listener = listen(port, "--once", options=options)
    client, head = running_client(port, options)
    tap.ok(device in head, f"kill, {device}: it runs", head)
    listener.kill()
    status, _, err, seconds = end_of(client)
    tap.ok(status == 3 and "node 1" in err and seconds < 3, f"kill -9 of node 1, {device}: node 0 says so at once",
           f"{status} {err} {seconds}")
    end_of(listener)
    listener = listen(port, "--once", options=options)
    client, head = running_client(port, options)
    client.kill()
    status, _, err, seconds = end_of(listener)
    tap.ok(status == 3 and "node 0" in err and seconds < 3, f"kill -9 of node 0, {device}: node 1 says so at once",
           f"{status} {err} {seconds}")
    end_of(client)


def interrupted():
    port = free_port()
    listener = listen(port, "--once")
    client = start(PMTEST, f"localhost:{port}", "--test", "latency", "--size", "8:4M", "--seconds", "0.3")
    seen = [client.stdout.readline() for _ in range(5)]
    client.send_signal(signal.SIGINT)
    status, out, err, seconds = end_of(client)
    tap.ok(status == 130 and seconds < 2, "^C: exit status", f"{status} after {seconds} s: {err}")
    tap.ok(re.match(r" +8 +[\d.]+", seen[4]) is not None and "stopped after" in err, "^C: rows so far stay",
           f"{seen} {out} {err}")
    status, _, err, seconds = end_of(listener)
    tap.ok(status == 3 and seconds < 2, "^C: the other side ends as well", f"{status}: {err}")


def strangers():
    port = free_port()
    listener = listen(port)
    callers = []
    for bytes_ in (b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n", b"OPMTOOL\1\2" + bytes(15), b"OPM",
                   b"OPMTOOL\1\1" + bytes(15) + b"\xff\xff\xff\x7f"):
        callers.append(socket.create_connection(("localhost", port)))
        callers[-1].sendall(bytes_)
        with contextlib.suppress(OSError):  # the listener may have hung up on the stranger already
            callers[-1].shutdown(socket.SHUT_WR)
    done = run(PMTEST, f"localhost:{port}", "--test", "latency", "--size", "8", "--iterations", "10")
    tap.ok(done.returncode == 0, "strangers: the listener serves on", told(done))
    for caller in callers:
        caller.close()
    listener.send_signal(signal.SIGTERM)
    status, _, err, _ = end_of(listener)
    tap.ok(status == 130, "strangers: a signal ends the listener", f"{status} {err}")
    for words in ("is no PM tool", "speaks version 2", "address of 2147483647 bytes"):
        tap.ok(words in err, f"strangers: {words}", err)


def wrong_arguments():
    for words, said in ((["--bogus"], "--bogus"), (["--test", "speed"], "speed"), (["--size", "5M"], "5242880"),
                        (["--size", "9:8"], "9:8"), (["--iterations", "0"], "--iterations 0"),
                        (["--seconds", "x"], "--seconds x"), (["--listen=70000"], "65535"), (["--once"], "--once"),
                        (["--self", "somehost"], "exclude"), (["--iterations", "5", "--seconds", "1"], "exclude"),
                        (["--wait", "doze"], "poll and sleep"), ([], "mpirun -np 2"),
                        (["nowhere.invalid"], "nowhere.invalid")):
        done = run(PMTEST, *words)
        tap.ok(done.returncode == 1 and said in done.stderr and not done.stdout,
               f"wrong: pmtest {' '.join(words)}", told(done))
    done = run(PMTEST, f"localhost:{free_port()}")
    tap.ok(done.returncode == 3 and "--listen" in done.stderr, "wrong: nobody listens", told(done))
    done = run(PMTEST, "--self", options="devices=warp")
    tap.ok(done.returncode == 1 and "warp" in done.stderr, "wrong: PM_OPTIONS", told(done))


def damaged():
    done = mpirun(2, PMTEST, "--test", "bandwidth", "--size", "1M", options=f"{UDP},fault=7:corrupt=10%")
    tap.ok(done.returncode == 2 and re.search(r"expected 0x\w\w, got 0x\w\w", done.stderr),
           "damaged data: the first wrong byte, exit status 2", told(done))
    done = mpirun(3, SCSTEST, "--seconds", "1", "--limit", "15", options=f"{UDP},fault=7:corrupt=10%")
    tap.ok(done.returncode == 2 and "BAD" in done.stdout, "scstest finds damaged data", told(done))


def stress():
    done = mpirun(4, SCSTEST, "--count", "3000", "--seed", "99", "--max-size", "1M", "--json")
    result = (json_lines(done.stdout) or [{}])[-1]
    tap.ok(done.returncode == 0 and result.get("good") and result.get("complete"), "scstest: 4 nodes", told(done))
    tap.ok(result.get("seed") == 99 and len(result.get("per_node", [])) == 4, "scstest: totals per node", told(done))
    tap.ok(result.get("sent") == result.get("received") > 4 * 3000 // 2, "scstest: all that was sent came", told(done))
    tap.ok(result.get("reads", 0) > 50 and result.get("writes", 0) > 10, "scstest: reads and writes", told(done))
    done = mpirun(3, SCSTEST, "--seconds", "1", options=f"{UDP},channel.crc=1,{NOISY}")
    tap.ok(done.returncode == 0 and "good: 3 nodes" in done.stdout, "scstest: on a bad network", told(done))
    patterns()
    done = run(SCSTEST, "--self", "--count", "2000")
    tap.ok(done.returncode == 0 and "good: 1 nodes" in done.stdout, "scstest: alone", told(done))


def patterns():
    done = mpirun(4, SCSTEST, "--pattern", "all-to-all", "--count", "1200", "--json")
    result = (json_lines(done.stdout) or [{}])[-1]
    tap.ok(done.returncode == 0 and result.get("good") and result.get("pattern") == "all-to-all",
           "scstest: all-to-all", told(done))
    done = mpirun(4, SCSTEST, "--pattern", "neighbour", "--dims", "1x2x2", "--count", "1200", "--json")
    result = (json_lines(done.stdout) or [{}])[-1]
    tap.ok(done.returncode == 0 and result.get("good") and result.get("dims") == [1, 2, 2],
           "scstest: neighbour", told(done))
    wrong = {("--pattern", "ring"): "random, all-to-all and neighbour",
             ("--pattern", "neighbour"): "--dims 4x4x4",
             ("--pattern", "neighbour", "--dims", "4x"): "1 to 6 extents",
             ("--dims", "2x2"): "--pattern neighbour",
             ("--self", "--pattern", "neighbour", "--dims", "2x2"): "2x2 has 4 nodes, the job has 1"}
    for words, what in wrong.items():
        done = run(SCSTEST, *words)
        tap.ok(done.returncode == 1 and what in done.stderr, f"scstest {' '.join(words)}: refused", told(done))


def ranks_of(job):
    """Process numbers of a job's ranks, by rank."""
    found = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, KeyError, IndexError):
            with open(f"/proc/{entry}/stat", encoding="ascii") as stat:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) != job.pid:
                    continue
            with open(f"/proc/{entry}/environ", encoding="utf-8", errors="replace") as environ:
                variables = dict(item.split("=", 1) for item in environ.read().split("\0") if "=" in item)
            found[int(variables["PMIX_RANK"])] = int(entry)
    return found


def has_begun(pid):
    """Whether the process has sent anything yet, by its counters."""
    done = run(PMSTAT, "--json", "--pid", str(pid))
    return any(link["tx_messages"] for line in json_lines(done.stdout) for context in line["contexts"]
               for link in context["links"])


def silent():
    job = start("mpirun", *MPI_FLAGS, "-np", "3", SCSTEST, "--seconds", "3", "--limit", "2")
    is_there = wait_for(lambda: 2 in ranks_of(job) and has_begun(ranks_of(job)[2]))
    tap.ok(is_there, "silence: it runs")
    if is_there:
        os.kill(ranks_of(job)[2], signal.SIGSTOP)
    status, out, err, seconds = end_of(job)
    tap.ok(status == 3 and "silent nodes: 2\n" in err and seconds < 20, "silence: the stopped node is named",
           f"{status} after {seconds:.1f} s: {out}{err}")


def silent_at_start():
    job = start("mpirun", *MPI_FLAGS, "-np", "3", "sh", "-c",
                f'test "$PMIX_RANK" != 2 || kill -STOP $$; exec {SCSTEST} --seconds 1')
    status, out, err, seconds = end_of(job)
    tap.ok(status == 3 and "silent" in err and seconds < 30, "silence: a node that never comes",
           f"{status} after {seconds:.1f} s: {out}{err}")


def on_hosts(ranks, *words):
    agent = f"{SCLAB} --name {LAB} rsh-agent"
    return run(SCLAB, "--name", LAB, "exec", "h0", "--", "mpirun", "--mca", "plm_rsh_agent", agent, "--mca",
               "oob_tcp_if_include", "eth0", "--map-by", "node", "-H", "h0:2,h1:2", *MPI_FLAGS, "-np", str(ranks),
               *words)


def across_hosts():
    if os.geteuid():
        tap.skip("across hosts", "needs root to make network namespaces")
        return
    done = run(SCLAB, "--name", LAB, "up", "--hosts", "2", "--nics", "2", "--rate", "200mbit", "--loss", "0.5%",
               "--share", BUILD)
    if done.returncode:
        tap.ok(False, "across hosts: the lab comes up", told(done))
        return
    try:
        done = on_hosts(2, PMTEST, "--size", "8,64K", "--seconds", "0.1", "--json")
        tap.ok(done.returncode == 0, "across hosts: pmtest, 0.5 % loss", told(done))
        check_results("across hosts", done.stdout, "udp", [8, 65536])
        done = on_hosts(4, SCSTEST, "--seconds", "1")
        tap.ok(done.returncode == 0 and "good: 4 nodes" in done.stdout, "across hosts: scstest", told(done))
        listener = start(SCLAB, "--name", LAB, "exec", "h1", "--", PMTEST, "--listen", "--once")
        tap.ok("listening" in listener.stderr.readline(), "across hosts: listener")
        done = run(SCLAB, "--name", LAB, "exec", "h0", "--", PMTEST, "h1", "--test", "latency,read", "--size",
                   "8,64K", "--seconds", "0.1")
        tap.ok(done.returncode == 0 and "udp" in done.stdout, "across hosts: by hand", told(done))
        tap.ok(end_of(listener)[0] == 0, "across hosts: the listener ends well")
    finally:
        run(SCLAB, "--name", LAB, "down")


def main():
    if not (all(os.access(name, os.X_OK) for name in (PMTEST, SCSTEST, PMSTAT))):
        print("1..0 # SKIP pmtest was not built: install libpmix-dev and run make")
        return 0
    alone()
    table()
    by_hand()
    killed("", "shmem")
    killed(UDP, "udp")
    interrupted()
    strangers()
    wrong_arguments()
    if shutil.which("mpirun"):
        under_mpirun()
        damaged()
        stress()
        silent()
        silent_at_start()
        across_hosts()
    else:
        tap.skip("under mpirun", "install openmpi-bin")
    return tap.end()


sys.exit(main())
