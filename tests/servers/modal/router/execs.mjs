// TaskCommandRouter's calls about commands.
import path from "node:path";

import { GrpcError, Status } from "../../lib/grpc.mjs";
import { record } from "../../lib/record.mjs";
import { launchWithPipes, options } from "../../lib/spawn.mjs";
import { checkArguments, checkEnv, checkWorkdir } from "../create_input.mjs";
import { Exec } from "./exec.mjs";
import { asHandlers } from "./messages.mjs";

const PIPE = 1;
const MERGED = 2;
// In every sandbox of the vendor's; here a program of the server's own stands in for it.
const FS_TOOLS = "/__modal/.bin/modal-sandbox-fs-tools";

const invalid = (message) => new GrpcError(Status.INVALID_ARGUMENT, message);

export class Execs {
	// sandbox: { taskId, user, globals, workdir, spool: a folder, fsTools: argv }
	constructor(sandbox) {
		Object.assign(this, { sandbox, all: new Map(), running: 0, idleSince: Date.now(), made: 0 });
	}

	find({ taskId, execId }) {
		this.checkTask(taskId);
		const exec = this.all.get(execId);
		if (!exec)
			throw new GrpcError(Status.NOT_FOUND, `exec ${execId ?? ""} not found`);
		return exec;
	}

	checkTask(taskId) {
		if (taskId !== this.sandbox.taskId)
			throw new GrpcError(Status.PERMISSION_DENIED, "the token is for another task");
	}

	// ---- Starting ------------------------------------------------------------------------------------

	check(request) {
		const { execId, commandArgs = [], stdoutConfig = 0, stderrConfig = 0 } = request;
		this.checkTask(request.taskId);
		if (!execId)
			throw invalid("no exec_id");
		if (!commandArgs.length)
			throw invalid("no command");
		if (stderrConfig === MERGED || stdoutConfig > PIPE || stderrConfig > MERGED)
			throw invalid("an output is PIPE or DEVNULL");
		if (request.ptyInfo || request.containerId)
			throw new GrpcError(Status.UNIMPLEMENTED, "terminals and further containers are not served here");
		checkArguments(commandArgs);
		checkWorkdir(request.workdir);
	}

	environment({ env = {}, secretSources = [] }) {
		const given = Object.assign({}, env, ...secretSources.map((one) => one.env?.contents ?? {}));
		const { user, globals } = this.sandbox;
		return { PATH: process.env.PATH, HOME: user.home, USER: user.name, ...globals, ...checkEnv(given) };
	}

	async launch({ commandArgs, workdir, ...request }) {
		const argv = commandArgs[0] === FS_TOOLS ? [...this.sandbox.fsTools, ...commandArgs.slice(1)] : commandArgs;
		const cwd = workdir ?? this.sandbox.workdir ?? this.sandbox.user.home;
		try {
			return await launchWithPipes(argv, options(this.sandbox.user, cwd, this.environment(request)), true);
		} catch (error) {
			throw error instanceof GrpcError ? error :
				invalid(`Failed to start ${argv[0]} in ${cwd}: ${error.code ?? error.message}`);
		}
	}

	async begin(request) {
		const started = await this.launch(request);
		const number = this.made++;
		if (!request.stdoutConfig)
			started.stdout = (started.stdout.resume(), null);
		if (!request.stderrConfig)
			started.stderr = (started.stderr.resume(), null);
		const files = ["out", "err"].map((kind) => path.join(this.sandbox.spool, `${kind}-${number}`));
		const exec = new Exec(started, files, request.timeoutSecs);
		this.running++;
		exec.over.then(() => {
			this.running--;
			this.idleSince = Date.now();
		});
		return exec;
	}

	// The same id is the same command: what runs is not started again.
	async start(request) {
		this.check(request);
		record("exec", JSON.stringify(request));
		const known = this.all.get(request.execId);
		if (known)
			return void await known;
		const starting = this.begin(request);
		this.all.set(request.execId, starting);
		starting.catch(() => this.all.delete(request.execId));
		await starting;
	}

	activity() {
		return { running: this.running, idleMs: Date.now() - this.idleSince };
	}

	// ---- Input and outputs -----------------------------------------------------------------------------

	async* read(call, request) {
		const exec = await this.find(request);
		for await (const data of exec.outputs[request.fileDescriptor ?? 0].read(request.offset ?? 0, call))
			yield { data };
	}

	async write(request) {
		const exec = await this.find(request);
		exec.checkOffset(request.offset ?? 0);
		await exec.write(request.data ?? Buffer.alloc(0));
		if (request.eof)
			exec.close();
	}

	async writeStream(requests) {
		let exec;
		let claim;
		for await (const request of requests) {
			if (request.start) {
				exec = await this.find(request.start);
				exec.checkOffset(request.start.offset ?? 0);
				claim = exec.claim();
			}
			if (!exec)
				throw invalid("a stream of stdin begins with start");
			if (claim.isEvicted)
				throw new GrpcError(Status.ABORTED, "another one writes stdin now");
			if (request.data)
				await exec.write(request.data);
			if (request.end)
				return exec.close();
		}
		return undefined;
	}

	async stdinStatus(request) {
		const exec = await this.find(request);
		exec.evict();
		return { numBytesWritten: exec.written, closed: exec.isClosed };
	}

	handlers() {
		return asHandlers({
			TaskExecStart: (call, request) => this.start(request),
			TaskExecStdioRead: (call, request) => this.read(call, request),
			TaskExecStdinWrite: (call, request) => this.write(request),
			TaskExecStdinWriteStream: (call, requests) => this.writeStream(requests),
			TaskExecStdinStatus: (call, request) => this.stdinStatus(request),
			TaskExecWait: async (call, request) => (await this.find(request)).over,
			TaskExecPoll: async (call, request) => (await this.find(request)).end ?? {},
		});
	}
}
