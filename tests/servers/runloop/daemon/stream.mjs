// One stream of a command as server-sent events, from any byte of it to its end.
import { until } from "../until.mjs";

const PIECE = 16 << 10;

function drained(res) {
	return new Promise((resolve) => {
		const go = () => {
			res.off("drain", go).off("close", go);
			resolve();
		};
		res.on("drain", go).on("close", go);
	});
}

async function send(res, fields) {
	if (!res.write(`${fields.join("\n")}\n\n`))
		await drained(res);
}

// Each event says where its piece begins.
async function sendWhatIsThere(res, output, offset) {
	let at = offset;
	for (let piece; (piece = output.piece(at, PIECE)).length > 0 && !res.destroyed; at += piece.length)
		await send(res, [`data: ${JSON.stringify({ output: piece.toString("utf8"), offset: at })}`]);
	return at;
}

export async function stream(res, execution, name, offset, idleMs) {
	const output = execution.outputs[name];
	res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
	res.flushHeaders();
	for (let at = offset; !res.destroyed;) {
		const isLast = execution.isCompleted;
		at = await sendWhatIsThere(res, output, at);
		if (isLast)
			break;
		if (!await until(execution.changes, () => execution.isCompleted || output.size > at, idleMs)) {
			await send(res, ["event: error", `data: ${JSON.stringify({ code: "408", message: "Idle timeout" })}`]);
			break;
		}
	}
	res.end();
}
