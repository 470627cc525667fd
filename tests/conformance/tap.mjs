// Tests one after the other, told as TAP, each with a deadline.

const DEADLINE_MS = 20_000;

function withDeadline(promise) {
	let timer;
	const late = new Promise((resolve, reject) => {
		timer = setTimeout(() => reject(new Error(`not done after ${DEADLINE_MS} ms`)), DEADLINE_MS);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function outcome(run) {
	try {
		await withDeadline(run());
		return undefined;
	} catch (error) {
		return error;
	}
}

function explain(error) {
	for (const line of String(error.stack ?? error).split("\n"))
		console.log(`# ${line}`);
}

// tests: [[name, async function]]. Returns how many failed.
export async function runTests(tests) {
	console.log(`1..${tests.length}`);
	let failed = 0;
	for (const [i, [name, run]] of tests.entries()) {
		const error = await outcome(run);
		failed += error ? 1 : 0;
		console.log(`${error ? "not ok" : "ok"} ${i + 1} - ${name}`);
		if (error)
			explain(error);
	}
	return failed;
}
