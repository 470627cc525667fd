// One sandbox: its daemon, and its states as the control plane shows them.
//
// creating (or pending_build, building_snapshot) -> started <-> stopped -> archived, and at last destroyed.
import { Guest } from "../lib/guest.mjs";
import { badRequest, stateChangeInProgress } from "./api_error.mjs";

const ORDINARY_USER = "daytona";

export class Sandbox extends Guest {
	// place: as lib/guest.mjs wants it, and account: whose the commands are ("": as was asked for), shell: what reads them
	// ("": as the daemon finds one), minuteMs: how long a minute of the intervals is.
	constructor(id, wanted, place) {
		super(id, place, ORDINARY_USER);
		Object.assign(this, wanted, place.account ? { account: place.account } : {});
		this.state = wanted.buildInfo ? "pending_build" : "creating";
		this.desiredState = "started";
		this.createdAt = this.updatedAt = this.lastActivityAt = Date.now();
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

	requireSettled() {
		if (this.isChanging)
			throw stateChangeInProgress();
	}

	create() {
		return this.change(this.state, "started", () => this.launch());
	}

	start() {
		this.requireSettled();
		if (this.state === "started")
			return Promise.resolve();
		if (!["stopped", "archived"].includes(this.state))
			throw badRequest("Sandbox is not in valid state");
		return this.change(this.state === "archived" ? "restoring" : "starting", "started", () => this.launch());
	}

	stop() {
		this.requireSettled();
		if (this.state !== "started")
			throw badRequest("Sandbox is not in a stoppable state");
		return this.isEphemeral ? this.destroy() : this.change("stopping", "stopped", () => this.halt());
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

	setAutoStop(minutes) {
		this.autoStopInterval = minutes;
		this.watchActivity();
	}

	watchActivity() {
		clearTimeout(this.timer);
		if (this.autoStopInterval > 0)
			this.timer = setTimeout(() => this.stopIfIdle(), this.autoStopInterval * this.place.minuteMs);
	}

	stopIfIdle() {
		if (this.state === "started" && !this.isChanging)
			this.stop();
	}
}
