// How a process ended, in the words of the vendor's daemon.
import os from "node:os";

const SIGNAL_TEXTS = {
	SIGHUP: "hangup",
	SIGINT: "interrupt",
	SIGQUIT: "quit",
	SIGILL: "illegal instruction",
	SIGTRAP: "trace/breakpoint trap",
	SIGABRT: "aborted",
	SIGBUS: "bus error",
	SIGFPE: "floating point exception",
	SIGKILL: "killed",
	SIGUSR1: "user defined signal 1",
	SIGSEGV: "segmentation fault",
	SIGUSR2: "user defined signal 2",
	SIGPIPE: "broken pipe",
	SIGALRM: "alarm clock",
	SIGTERM: "terminated",
};

export function endEvent(code, signal) {
	if (signal) {
		const status = `signal: ${SIGNAL_TEXTS[signal] ?? `signal ${os.constants.signals[signal]}`}`;
		return { exitCode: -1, exited: false, status, error: status };
	}
	const status = `exit status ${code}`;
	return { exitCode: code, exited: true, status, ...(code === 0 ? {} : { error: status }) };
}
