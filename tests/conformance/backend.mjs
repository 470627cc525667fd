// The example tools/examples/sandbox_backend.mts against the protocol's own types: it is what BaseSandbox wants of a sandbox.
// npm: deepagents@1.14.1 typescript@5.9.3 @types/node@20.19.0
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { runTests } from "./tap.mjs";

const modules = process.env.CONFORMANCE_MODULES;
const examples = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../tools/examples");
const OPTIONS = ["--typeRoots", path.join(modules, "node_modules/@types"), "--noEmit", "--strict", "--erasableSyntaxOnly", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "--types", "node"];

// Beside the modules, where the compiler finds them.
const place = fs.mkdtempSync(path.join(modules, "backend-"));

function compile(text) {
	fs.writeFileSync(path.join(place, "backend.mts"), text);
	const compiler = spawn(process.execPath, [path.join(modules, "node_modules/typescript/bin/tsc"), ...OPTIONS, path.join(place, "backend.mts")]);
	const said = [];
	compiler.stdout.on("data", (piece) => said.push(piece));
	return new Promise((resolve) => compiler.on("close", () => resolve(Buffer.concat(said).toString())));
}

const text = fs.readFileSync(path.join(examples, "sandbox_backend.mts"), "utf8");
const subclass = text.match(/class Sandbox extends BaseSandbox \{[^]*?\n \* {6}\}/)[0].replaceAll(/^ \*/gm, "");

const failed = await runTests([
	["the example has the protocol's types", async () => assert.equal(await compile(text), "")],
	["the subclass in its comment is one", async () => assert.equal(
		await compile(`${text}\nimport { BaseSandbox as Base } from "deepagents";\n${subclass.replace("extends BaseSandbox", "extends Base")}`), "")],
	["a result of another type is none", async () => assert.match(
		await compile(text.replace("exitCode: answer.exit_code", "exitCode: String(answer)")), /Type 'string' is not assignable/)],
]);
fs.rmSync(place, { recursive: true });
process.exit(failed ? 1 : 0);
