"""Checks of scripts/run_limited.py, which ends tests that hang, and of its list of idle times."""

import os
import re
import subprocess
import sys
import tempfile
import time

import tree

SCRIPT = os.path.join(tree.ROOT, "scripts", "run_limited.py")
IDLE_LIST = os.path.join(tree.ROOT, "tests", "support", "idle_seconds.txt")
IDLE = 0.05  # 20 times as long is a second
DEFAULT_IDLE = 15  # of scripts/run_units.sh
PATIENCE = 120  # for a run_limited.py that does not end what it should


def _run(command, idle=IDLE):
    """Status, output, seconds."""
    start = time.monotonic()
    try:
        done = subprocess.run([sys.executable, SCRIPT, str(idle)] + command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, "it was not ended", PATIENCE
    return done.returncode, done.stdout, time.monotonic() - start


def _alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def _is_timed_out(status, output):
    if status == 124 and "timed out after" in output:
        return []
    return ["status %s, output %r" % (status, output)]


def _sleeper():
    """A program that sleeps for ever, with a child that hears no SIGTERM."""
    with tempfile.NamedTemporaryFile("r") as file:
        child = "trap '' TERM; echo $$ >%s; while :; do sleep 1; done" % file.name
        status, output, _ = _run(["sh", "-c", "sh -c \"$0\" & sleep 1000", child])
        problems = _is_timed_out(status, output)
        pid = int(file.read() or 0)
        time.sleep(0.1)
        if not pid or _alive(pid):
            problems.append("its child %d is still there" % pid)
    return problems


def _spinner():
    status, output, _ = _run([sys.executable, "-c", "while True: pass"])
    return _is_timed_out(status, output)


def _slowed():
    """Needs 0.6 s of a processor, of which others leave it so little that it takes more than twice the limit, and is no hang. How much
    they leave is up to the system, so that there are more of them until it is little enough."""
    processor = min(os.sched_getaffinity(0))
    pin = ["taskset", "-c", str(processor)]
    program = "import time\nwhile time.process_time() < 0.6: pass\nprint('done')"
    for crowd in (4, 8, 16, 32):
        others = [subprocess.Popen(pin + [sys.executable, "-c", "while True: pass"], start_new_session=True)
                  for _ in range(crowd)]  # sessions share a processor evenly
        try:
            status, output, seconds = _run(pin + [sys.executable, "-c", program])
        finally:
            for other in others:
                other.kill()
            for other in others:
                other.wait()
        if status != 0 or output != "done\n":
            return ["status %s after %.1f s, output %r" % (status, seconds, output)]
        if seconds >= 2 * 20 * IDLE:
            return []
    return ["it took %.1f s, too little to tell anything" % seconds]


def _statuses():
    problems = []
    for command, wanted in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143)):
        status, output, _ = _run(["sh", "-c", "echo said; " + command], idle=10)
        if (status, output) != (wanted, "said\n"):
            problems.append("%s: status %s, output %r" % (command, status, output))
    return problems


def _list(build):
    """Every line names a test of the build and more seconds than the others get anyway."""
    problems, names = [], set()
    with open(os.path.join(build, "tests.txt")) as file:
        tests = {os.path.basename(line.strip()) for line in file}
    with open(IDLE_LIST) as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    for line in lines:
        match = re.fullmatch(r"(\w+) (\d+)", line)
        if not match or match[1] not in tests or int(match[2]) <= DEFAULT_IDLE or match[1] in names:
            problems.append(line)
        else:
            names.add(match[1])
    return problems


def check(build):
    yield "a program that sleeps for ever is timed out with its children", _sleeper()
    yield "a program that computes for ever is timed out", _spinner()
    yield "a program that others slow down is not timed out", _slowed()
    yield "a program's status and output come through", _statuses()
    yield "idle_seconds.txt lists tests that take long", _list(build)
