#!/usr/bin/env python3
"""Runs a command that must not hang: scripts/run_limited.py IDLE_SECONDS COMMAND ...
IDLE_SECONDS is what the command takes on an idle machine; it is ended after 20 times as long, prints 'timed out' and
gives status 124. The clock stands still while the command waits for a processor that others use, so a busy machine makes
it slower and does not fail it."""
import os
import signal
import subprocess
import sys
import time

PATIENCE = 20


def session_times(session):
    """Nanoseconds that the threads of a session ran, and that they waited for a processor."""
    ran = waited = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry) as file:
                if int(file.read().rsplit(")", 1)[1].split()[3]) != session:
                    continue
            for thread in os.listdir("/proc/%s/task" % entry):
                with open("/proc/%s/task/%s/schedstat" % (entry, thread)) as file:
                    numbers = file.read().split()
                ran += int(numbers[0])
                waited += int(numbers[1])
        except (OSError, IndexError, ValueError):
            continue  # It has just ended, or the system has no such numbers.
    return ran, waited


def share_of_processor(before, after):
    """Which part of the time in which its threads could have run they did run; 1 for threads that only sleep."""
    ran, waited = after[0] - before[0], after[1] - before[1]
    if ran <= 0 or waited <= 0:
        return 1.0
    return ran / (ran + waited)


def end(process):
    """Ends a command with all it started; one that is a run of this script itself ends its own command first."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def hear_all_signals():
    """A background shell ignores SIGINT and SIGQUIT, nohup ignores SIGHUP, and children inherit that; tests look at them."""
    for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGTSTP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def run(command, idle_seconds, **options):
    """Returns (status, seconds, timed_out)."""
    limit = PATIENCE * idle_seconds
    started = last = time.monotonic()
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=hear_all_signals, **options)
    counted, times = 0.0, (0, 0)
    try:
        while True:
            try:
                return process.wait(timeout=2), time.monotonic() - started, False
            except subprocess.TimeoutExpired:
                pass
            now, current = time.monotonic(), session_times(process.pid)
            counted += (now - last) * share_of_processor(times, current)
            last, times = now, current
            if counted > limit:
                return 124, now - started, True
    finally:
        if process.poll() is None:
            end(process)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    idle = float(sys.argv[1])
    status, seconds, timed_out = run(sys.argv[2:], idle)
    if timed_out:
        print("timed out after %.0f s; on an idle machine it takes %g s" % (seconds, idle), flush=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
