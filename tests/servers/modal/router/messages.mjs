// The messages and methods of modal.task_command_router.TaskCommandRouter that concern commands.
import { field } from "../../lib/protobuf.mjs";
import { clientStream, serverStream, unary } from "../../lib/grpc.mjs";

const optional = { optional: true };
const Exec = { taskId: field(1, "string"), execId: field(2, "string") };
const Ended = { code: field(1, "uint32", optional), signal: field(2, "uint32", optional) };
const SecretSource = { secretId: field(1, "string", optional), env: field(2, { contents: field(1, "string", { map: true }) }) };
const Empty = {};

const named = {
	TaskExecStart: unary({
		...Exec, commandArgs: field(3, "string", { repeated: true }), stdoutConfig: field(4, "uint32"),
		stderrConfig: field(5, "uint32"), timeoutSecs: field(6, "uint32", optional), workdir: field(7, "string", optional),
		secretIds: field(8, "string", { repeated: true }), ptyInfo: field(9, { enabled: field(1, "bool") }),
		containerId: field(11, "string"), env: field(12, "string", { map: true }),
		secretSources: field(13, SecretSource, { repeated: true }),
	}, Empty),
	TaskExecStdioRead: serverStream({ ...Exec, offset: field(3, "int64"), fileDescriptor: field(4, "uint32") },
		{ data: field(1, "bytes") }),
	TaskExecStdinWrite: unary({ ...Exec, offset: field(3, "int64"), data: field(4, "bytes"), eof: field(5, "bool") }, Empty),
	TaskExecStdinWriteStream: clientStream({
		start: field(1, { ...Exec, offset: field(3, "int64") }), data: field(2, "bytes", optional), end: field(3, Empty),
	}, Empty),
	TaskExecStdinStatus: unary(Exec, { numBytesWritten: field(1, "int64"), closed: field(2, "bool") }),
	TaskExecWait: unary(Exec, Ended),
	TaskExecPoll: unary(Exec, Ended),
};

const SERVICE = "modal.task_command_router.TaskCommandRouter";

export const asHandlers = (table) =>
	Object.fromEntries(Object.entries(table).map(([name, one]) => [`${SERVICE}/${name}`, one]));
export const routerMethods = asHandlers(named);
