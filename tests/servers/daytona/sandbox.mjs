// One sandbox: its daemon, and its states as the control plane shows them.
//
// creating (or pending_build, building_snapshot) -> started <-> stopped -> archived, and at last destroyed. One that is a
// computer of its own may be paused. What is in the state error may be recovered, if the control plane says so.
import { Guest } from "../lib/guest.mjs";
import { badRequest, stateChangeInProgress } from "./api_error.mjs";

const ORDINARY_USER = "daytona";
const CHANGES_MS = 50;
// The longest that a timer waits.
const TIMER_MAX_MS = 2 ** 31 - 1;

export class Sandbox extends Guest {
	// place: as lib/guest.mjs wants it, and account: whose the commands are ("": as was asked for), shell: what reads them
	// ("": as the daemon finds one), minuteMs: how long a minute of the intervals is.
	constructor(id, wanted, place) {
		super(id, place, ORDINARY_USER);
		Object.assign(this, wanted, place.account ? { account: place.account } : {});
		this.state = wanted.buildInfo ? "pending_build" : "creating";
		this.desiredState = "started";
		this.createdAt = this.updatedAt = this.lastActivityAt = Date.now();
		this.setTtl(wanted.ttlMinutes ?? 0);
	}

	// ---- States --------------------------------------------------------------------------------------

	get isChanging() {
		return this.state !== this.desiredState;
	}

	become(state) {
		this.state = state;
		this.updatedAt = Date.now();
	}

	// Shows `during` until the work is done, then `to`. Resolves then, also when the work has failed.
	async change(during, to, work) {
		this.desiredState = to;
		this.become(during);
		try {
			await work();
			this.become(to);
		} catch (error) {
			this.errorReason = error.message;
			this.desiredState = "error";
			this.become("error");
		}
	}

	// Shows `during` until the work is done, and then what it showed before.
	async whileShown(during, work) {
		this.requireSettled();
		const before = this.state;
		await this.change(during, before, work);
	}

	requireSettled() {
		if (this.isChanging)
			throw stateChangeInProgress();
	}

	// folder: what is on its disk at first; undefined: nothing.
	create(folder) {
		const [, image] = /^FROM (.*)$/m.exec(this.buildInfo?.dockerfileContent ?? "") ?? [];
		if (image?.startsWith("no-such"))
			return this.failBuild(image);
		return this.change(this.state, "started", async () => {
			if (folder)
				await this.restore(folder);
			await this.launch();
		});
	}

	failBuild(image) {
		Object.assign(this, { errorReason: `pull access denied for ${image}`, desiredState: "build_failed" });
		setTimeout(() => this.become("build_failed"), CHANGES_MS);
	}

	get buildLog() {
		return `${this.buildInfo.dockerfileContent}\n${this.errorReason ?? "built"}\n`;
	}

	start() {
		this.requireSettled();
		if (this.state === "started")
			return Promise.resolve();
		if (!["stopped", "archived", "paused"].includes(this.state))
			throw badRequest("Sandbox is not in valid state");
		if (this.state === "paused")
			return this.change("resuming", "started", () => this.launch());
		return this.change(this.state === "archived" ? "restoring" : "starting", "started", () => this.launch());
	}

	stop() {
		this.requireSettled();
		if (this.state !== "started")
			throw badRequest("Sandbox is not in a stoppable state");
		return this.isEphemeral ? this.destroy() : this.change("stopping", "stopped", () => this.halt());
	}

	pause() {
		this.requireSettled();
		if (this.state !== "started")
			throw badRequest("Sandbox is not in a pausable state");
		return this.change("pausing", "paused", () => this.halt());
	}

	// As when a runner has lost it.
	async fail(reason, recoverable) {
		await this.halt();
		Object.assign(this, { errorReason: reason, recoverable, desiredState: "error" });
		this.become("error");
	}

	recover(staysStopped) {
		if (this.state !== "error" || !this.recoverable)
			throw badRequest("Sandbox is not in a recoverable error state");
		Object.assign(this, { errorReason: undefined, recoverable: undefined, state: "stopped", desiredState: "stopped" });
		return staysStopped ? Promise.resolve() : this.start();
	}

	evict() {
		this.spotEvictedAt = Date.now();
		return this.destroy();
	}

	archive() {
		this.requireSettled();
		if (this.state !== "stopped")
			throw badRequest("Sandbox is not stopped");
		if (this.isEphemeral)
			throw badRequest("Ephemeral sandboxes cannot be archived");
		return this.change("archiving", "archived", () => {});
	}

	destroy() {
		if (this.isChanging && this.state !== "pending_build")
			throw stateChangeInProgress();
		clearTimeout(this.ttlTimer);
		return this.change("destroying", "destroyed", async () => {
			await this.halt();
			this.onGone();
		});
	}

	get isEphemeral() {
		return this.autoDeleteInterval === 0;
	}

	// ---- Its daemon ----------------------------------------------------------------------------------

	async launch() {
		const { account } = this;
		await this.startDaemon({
			hostname: this.id,
			main: "daytona/daemon/main.mjs",
			config: {
				account, shell: this.place.shell, env: { DAYTONA_SANDBOX_ID: this.id, DAYTONA_SANDBOX_USER: account, ...this.env },
			},
		});
		this.touch();
	}

	async halt() {
		clearTimeout(this.timer);
		this.cutConnections();
		await this.jail?.kill();
	}

	// ---- Activity ------------------------------------------------------------------------------------

	touch() {
		this.lastActivityAt = Date.now();
		this.watchActivity();
	}

	// Either interval takes the other's place.
	setAutoStop(minutes) {
		Object.assign(this, { autoStopInterval: minutes }, minutes > 0 && { autoPauseInterval: 0 });
		this.watchActivity();
	}

	setAutoPause(minutes) {
		Object.assign(this, { autoPauseInterval: minutes }, minutes > 0 && { autoStopInterval: 0 });
		this.watchActivity();
	}

	watchActivity() {
		clearTimeout(this.timer);
		const minutes = this.autoStopInterval || this.autoPauseInterval;
		if (minutes > 0)
			this.timer = setTimeout(() => this.restIfIdle(), minutes * this.place.minuteMs);
	}

	restIfIdle() {
		if (this.state !== "started" || this.isChanging)
			return;
		if (this.autoPauseInterval > 0)
			this.pause();
		else
			this.stop();
	}

	// ---- Time to live: from now, whatever its state ----------------------------------------------------

	setTtl(minutes) {
		clearTimeout(this.ttlTimer);
		this.destroyAt = minutes > 0 ? Date.now() + minutes * this.place.minuteMs : undefined;
		if (this.destroyAt)
			this.watchTtl();
	}

	watchTtl() {
		const leftMs = this.destroyAt - Date.now();
		this.ttlTimer = setTimeout(() => this.expireOrWait(), Math.min(Math.max(leftMs, CHANGES_MS), TIMER_MAX_MS));
	}

	// A change of state under way is waited for.
	expireOrWait() {
		if (this.isChanging || Date.now() < this.destroyAt)
			this.watchTtl();
		else
			this.destroy();
	}
}
