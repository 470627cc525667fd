// All sandboxes of the workspace, those that have finished too.
import { GrpcError, Status } from "../lib/grpc.mjs";
import { makeId } from "./catalog.mjs";
import { Sandbox } from "./sandbox.mjs";

const V2_ID_LENGTH = 26;

export class Fleet {
	constructor(place) {
		this.place = place;
		this.everyOne = [];
	}

	// It is not started yet. wanted: as Sandbox takes it, but for the task.
	make(wanted) {
		const { isV2, definition, appId } = wanted;
		const { name } = definition;
		if (name && this.all().some((one) => one.appId === appId && one.definition.name === name))
			throw new GrpcError(Status.ALREADY_EXISTS, `A sandbox with name '${name}' already exists`);
		const taskId = isV2 ? `${makeId("ta", V2_ID_LENGTH)}V` : makeId("ta");
		const sandbox = new Sandbox(isV2 ? makeId("sb", V2_ID_LENGTH) : makeId("sb"), { ...wanted, taskId }, this.place);
		this.everyOne.push(sandbox);
		return sandbox;
	}

	all() {
		return this.everyOne.filter(({ result }) => !result);
	}

	find(id) {
		return this.everyOne.find((one) => one.id === id);
	}

	findTask(taskId) {
		return this.everyOne.find((one) => one.taskId === taskId);
	}

	killAll() {
		return Promise.all(this.all().map((one) => one.finish({ status: 3 })));
	}
}
