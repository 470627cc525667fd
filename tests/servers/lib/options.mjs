// Command lines of the test servers: --name VALUE, --flag.
import { parseArgs } from "node:util";

// defaults: { name: value }; a default that is a number or a boolean says what the option is. `required`: names.
export function parseOptions(defaults, required) {
	const options = Object.fromEntries(Object.entries(defaults).map(([name, value]) =>
		[name, { type: typeof value === "boolean" ? "boolean" : "string" }]));
	const { values } = parseArgs({ options });
	for (const name of required.filter((one) => !values[one]))
		throw new Error(`--${name} is missing`);
	return Object.fromEntries(Object.entries(defaults).map(([name, value]) => {
		const given = values[name] ?? value;
		return [name, typeof value === "number" ? Number(given) : given];
	}));
}
