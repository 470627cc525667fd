// Starts a test server and waits for the line that says where it is.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

const SERVERS = fileURLToPath(new URL("../servers", import.meta.url));

// { urls of the server's line, post(path, body), get(path): its admin port, root, stop() }
export async function startServer(vendor, options = []) {
	const root = fs.mkdtempSync(path.join(os.tmpdir(), `conformance-${vendor}-`));
	const child = spawn(process.execPath, [path.join(SERVERS, vendor, "main.mjs"), "--root", root, ...options],
		{ stdio: ["ignore", "pipe", "inherit"] });
	const exited = once(child, "exit").then(([code]) => process.exit(code || 1));
	const [line] = await Promise.race([once(readline.createInterface({ input: child.stdout }), "line"), exited]);
	const urls = JSON.parse(line);
	const ask = async (method, where, body) => {
		const response = await fetch(`${urls.admin_url}${where}`, { method, body: body && JSON.stringify(body) });
		if (!response.ok)
			throw new Error(`${method} ${where}: ${await response.text()}`);
		return response.json();
	};
	const stop = async () => {
		child.removeAllListeners("exit");
		child.kill("SIGTERM");
		await once(child, "exit");
		fs.rmSync(root, { recursive: true, force: true });
	};
	return { urls, root, get: (where) => ask("GET", where), post: (where, body) => ask("POST", where, body), stop };
}
