"""Runs a program as a careless caller does: inherited.py ignoring|blocking PROGRAM [ARGUMENTS...].

`ignoring`: with every signal ignored that can be, but for those by which nohup(1) and shells shield a program;
`blocking`: with every signal blocked.
"""
import os
import signal
import sys

KEPT = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}

if sys.argv[1] == "blocking":
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
else:
    for number in signal.valid_signals() - KEPT - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
os.execvp(sys.argv[2], sys.argv[2:])
