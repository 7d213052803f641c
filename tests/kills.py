"""A run that is killed in its middle."""

import signal
import time
from multiprocessing import get_context


def killed(call, *given, slow, until, **named):
    """Forks a call and ends it by SIGKILL once ``until`` holds; a function, ``slow`` (owner, name), takes longer in it."""
    owner, name = slow
    plain = getattr(owner, name)

    def slowly():
        setattr(owner, name, lambda *rest: (plain(*rest), time.sleep(0.3)))
        call(*given, **named)

    run = get_context("fork").Process(target=slowly)  # no second import of torch
    run.start()
    deadline = time.monotonic() + 120
    while not until() and run.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert run.is_alive(), "the run ended before it could be killed"
    run.kill()
    run.join()
    assert run.exitcode == -signal.SIGKILL
