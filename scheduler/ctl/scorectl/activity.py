# SPDX-License-Identifier: BSD-3-Clause
"""activity - what happened between two answers "activity": shares of CPU, efficiency, lost time. Pure."""

from . import queue, words


def _cpu(job):
    return job["cpu_ns"]


def _turns(job):
    """Rows in which it runs; None: it is not in the matrix."""
    return bin(job["rows"]).count("1") or None


def _shares(job, before, passed_ns, n_rows):
    """(share of its cores' time, the same of the time of its turns); None: not known."""
    cores = job["ranks"] * max(1, job["cores"])
    if not before or passed_ns <= 0 or job["state"] not in ("running", "idle", "suspended"):
        return None, None
    cpu = max(0, _cpu(job) - _cpu(before)) / (passed_ns * cores)
    turns = _turns(job)
    if not turns or job["state"] != "running":
        return cpu, None
    return cpu, min(1.0, cpu * max(n_rows, turns) / turns)


def _job(job, before, passed_ns, answer):
    cpu, efficiency = _shares(job, before, passed_ns, answer["n_rows"])
    shown = queue.row(job, words.now(answer))
    return {**shown, "uid": job["uid"], "turns": _turns(job), "cpu": cpu, "efficiency": efficiency}


def _host(host, before, passed_ns):
    switches, earlier = host["switches"], before["switches"] if before else host["switches"]
    if switches["done"] < earlier["done"]:  # another scnoded counts from 0
        earlier = {key: 0 for key in switches}
    done = switches["done"] - earlier["done"]
    lost = (switches["lost_ns"] - earlier["lost_ns"]) / passed_ns if passed_ns > 0 else None
    return {"name": host["name"], "state": host["state"], "cores_used": host["cores_used"],
            "n_cores": host.get("n_cores", 0), "load": host["load"],
            "switches_per_s": done * 1e9 / passed_ns if passed_ns > 0 else 0.0,
            "late": switches["late"] - earlier["late"], "worst_ns": switches["worst_ns"], "lost": lost,
            "rows": host["rows"]}


def frame(answer, before):
    """One frame of sctop from two answers; before may be the same answer."""
    passed_ns = answer["now_ns"] - before["now_ns"]
    jobs = {job["id"]: job for job in before["jobs"]}
    hosts = {host["name"]: host for host in before["hosts"]}
    shown = [_host(host, hosts.get(host["name"]), passed_ns) for host in answer["hosts"]]
    there = [host for host in shown if not host["state"].startswith("absent")]
    return {"name": answer["name"], "version": answer["version"], "quantum_ns": answer["quantum_ns"],
            "n_rows": answer["n_rows"], "seconds": passed_ns / 1e9, "hosts_up": len(there),
            "cores": sum(host["n_cores"] for host in there), "cores_used": sum(host["cores_used"] for host in there),
            "jobs": [_job(job, jobs.get(job["id"]), passed_ns, answer) for job in queue.chosen(answer["jobs"])],
            "hosts": sorted(shown, key=lambda host: words.natural(host["name"]))}
