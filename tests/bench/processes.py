"""Programs under a deadline, and services that end with the block they are started in."""
import contextlib
import json
import os
import select
import signal
import subprocess
import time

ENDS_WITHIN = 10


class Failure(Exception):
    """Something did not work; the text says what."""


class TimeUp(Failure):
    """Something took longer than it may."""

    def __init__(self, what, seconds):
        super().__init__(f"{what}: not done after {seconds:g} s")
        self.seconds = seconds


def kill_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(command, seconds, cwd=None, env=None):
    """What the command prints. It and all that it started are killed when the time is up."""
    name = os.path.basename(command[0])
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, cwd=cwd, env=env, start_new_session=True, **pipes)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_group(process)
        # Who waits in a broken mount cannot even be killed before that is gone: not waited for.
        raise TimeUp(name, seconds) from None
    except BaseException:
        kill_group(process)
        raise
    if process.returncode:
        said = output[-300:].decode(errors="replace").strip()
        raise Failure(f"{name}: exit status {process.returncode}: {said}")
    return output


def wait_until(what, seconds, condition, *arguments):
    """Asks every few milliseconds; returns what the condition returned when it was true."""
    end = time.monotonic() + seconds
    while not (answer := condition(*arguments)):
        if time.monotonic() > end:
            raise TimeUp(what, seconds)
        time.sleep(0.005)
    return answer


def stop(process, seconds=ENDS_WITHIN):
    """TERM, and KILL for the whole group if that does not help."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    kill_group(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


@contextlib.contextmanager
def service(command, log, env=None, keeps=()):
    """A process for as long as the block takes; what it says goes to the file `log`, its output to a pipe. It keeps
    these descriptors of ours."""
    with open(log, "ab") as errors:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": errors}
        process = subprocess.Popen(command, env=env, start_new_session=True, pass_fds=keeps, **pipes)
    try:
        yield process
    finally:
        stop(process)
        process.stdout.close()


def ready_line(process, seconds=20):
    """The line of JSON that a service prints when it is ready."""
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    line = process.stdout.readline() if ready else b""
    if not line:
        raise Failure(f"{process.args[0]}: did not become ready")
    return json.loads(line)
