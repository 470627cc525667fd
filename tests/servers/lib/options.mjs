// Command lines of the test servers: --name VALUE, --flag; and for each of them --skew SECONDS (clock.mjs).
import { parseArgs } from "node:util";

import { setSkew } from "./clock.mjs";

// defaults: { name: value }; a default that is a number or a boolean says what the option is. `required`: names.
export function parseOptions(defaults, required) {
	const options = Object.fromEntries(Object.entries(defaults).map(([name, value]) =>
		[name, { type: typeof value === "boolean" ? "boolean" : "string" }]));
	const { values } = parseArgs({ options: { ...options, skew: { type: "string" } } });
	setSkew(Number(values.skew ?? 0));
	for (const name of required.filter((one) => !values[one]))
		throw new Error(`--${name} is missing`);
	return Object.fromEntries(Object.entries(defaults).map(([name, value]) => {
		const given = values[name] ?? value;
		return [name, typeof value === "number" ? Number(given) : given];
	}));
}
