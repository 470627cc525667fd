// The messages and methods of envd's two RPC services, filesystem.Filesystem and process.Process.
import { enumeration, field } from "../../lib/protobuf.mjs";

export const FileType = { UNSPECIFIED: 0, FILE: 1, DIRECTORY: 2, SYMLINK: 3 };
export const EventType = { CREATE: 1, WRITE: 2, REMOVE: 3, RENAME: 4, CHMOD: 5 };
export const Signal = { SIGKILL: 9, SIGTERM: 15 };

const fileType = enumeration(["UNSPECIFIED", "FILE", "DIRECTORY", "SYMLINK"].map((name) => `FILE_TYPE_${name}`));
const eventType = enumeration(
	["UNSPECIFIED", "CREATE", "WRITE", "REMOVE", "RENAME", "CHMOD"].map((name) => `EVENT_TYPE_${name}`));
const signalNames = [];
signalNames[0] = "SIGNAL_UNSPECIFIED";
signalNames[Signal.SIGKILL] = "SIGNAL_SIGKILL";
signalNames[Signal.SIGTERM] = "SIGNAL_SIGTERM";
const signal = enumeration(signalNames);

const Empty = {};

// ---- filesystem.Filesystem -------------------------------------------------------------------------

const EntryInfo = {
	name: field(1, "string"),
	type: field(2, fileType),
	path: field(3, "string"),
	size: field(4, "int64"),
	mode: field(5, "uint32"),
	permissions: field(6, "string"),
	owner: field(7, "string"),
	group: field(8, "string"),
	modifiedTime: field(9, "timestamp", { optional: true }),
	symlinkTarget: field(10, "string", { optional: true }),
	metadata: field(11, "string", { map: true }),
};
const PathRequest = { path: field(1, "string") };
const EntryResponse = { entry: field(1, EntryInfo) };
const WatchRequest = {
	path: field(1, "string"),
	recursive: field(2, "bool"),
	includeEntry: field(3, "bool"),
	allowNetworkMounts: field(4, "bool"),
};
const FilesystemEvent = {
	name: field(1, "string"),
	type: field(2, eventType),
	entry: field(3, EntryInfo),
};
const WatchResponse = {
	start: field(1, Empty),
	filesystem: field(2, FilesystemEvent),
	keepalive: field(3, Empty),
};
const WatcherId = { watcherId: field(1, "string") };

// ---- process.Process -------------------------------------------------------------------------------

const ProcessConfig = {
	cmd: field(1, "string"),
	args: field(2, "string", { repeated: true }),
	envs: field(3, "string", { map: true }),
	cwd: field(4, "string", { optional: true }),
};
const PtySize = { cols: field(1, "uint32"), rows: field(2, "uint32") };
const Pty = { size: field(1, PtySize) };
const ProcessSelector = {
	pid: field(1, "uint32", { optional: true }),
	tag: field(2, "string", { optional: true }),
};
const Selected = { process: field(1, ProcessSelector) };
const ProcessInput = {
	stdin: field(1, "bytes", { optional: true }),
	pty: field(2, "bytes", { optional: true }),
};
const ProcessInfo = {
	config: field(1, ProcessConfig),
	pid: field(2, "uint32"),
	tag: field(3, "string", { optional: true }),
};
const DataEvent = {
	stdout: field(1, "bytes", { optional: true }),
	stderr: field(2, "bytes", { optional: true }),
	pty: field(3, "bytes", { optional: true }),
};
const EndEvent = {
	exitCode: field(1, "sint32"),
	exited: field(2, "bool"),
	status: field(3, "string"),
	error: field(4, "string", { optional: true }),
};
const ProcessEvent = {
	start: field(1, { pid: field(1, "uint32") }),
	data: field(2, DataEvent),
	end: field(3, EndEvent),
	keepalive: field(4, Empty),
};
const EventResponse = { event: field(1, ProcessEvent) };
const StartRequest = {
	process: field(1, ProcessConfig),
	pty: field(2, Pty),
	tag: field(3, "string", { optional: true }),
	stdin: field(4, "bool", { optional: true }),
};
const StreamInputRequest = {
	start: field(1, Selected),
	data: field(2, { input: field(2, ProcessInput) }),
	keepalive: field(3, Empty),
};

// ---- Methods ---------------------------------------------------------------------------------------

const unary = (input, output) => ({ kind: "unary", input, output });
const serverStream = (input, output) => ({ kind: "server stream", input, output });
const clientStream = (input, output) => ({ kind: "client stream", input, output });

export const methods = {
	"filesystem.Filesystem/Stat": unary(PathRequest, EntryResponse),
	"filesystem.Filesystem/ListDir": unary({ path: field(1, "string"), depth: field(2, "uint32") },
		{ entries: field(1, EntryInfo, { repeated: true }) }),
	"filesystem.Filesystem/MakeDir": unary(PathRequest, EntryResponse),
	"filesystem.Filesystem/Move": unary({ source: field(1, "string"), destination: field(2, "string") }, EntryResponse),
	"filesystem.Filesystem/Remove": unary(PathRequest, Empty),
	"filesystem.Filesystem/WatchDir": serverStream(WatchRequest, WatchResponse),
	"filesystem.Filesystem/CreateWatcher": unary(WatchRequest, WatcherId),
	"filesystem.Filesystem/GetWatcherEvents": unary(WatcherId,
		{ events: field(1, FilesystemEvent, { repeated: true }) }),
	"filesystem.Filesystem/RemoveWatcher": unary(WatcherId, Empty),
	"process.Process/List": unary(Empty, { processes: field(1, ProcessInfo, { repeated: true }) }),
	"process.Process/Start": serverStream(StartRequest, EventResponse),
	"process.Process/Connect": serverStream(Selected, EventResponse),
	"process.Process/Update": unary({ process: field(1, ProcessSelector), pty: field(2, Pty) }, Empty),
	"process.Process/StreamInput": clientStream(StreamInputRequest, Empty),
	"process.Process/SendInput": unary({ process: field(1, ProcessSelector), input: field(2, ProcessInput) }, Empty),
	"process.Process/SendSignal": unary({ process: field(1, ProcessSelector), signal: field(2, signal) }, Empty),
	"process.Process/CloseStdin": unary(Selected, Empty),
};
