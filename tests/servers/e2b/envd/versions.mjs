// What the daemon could do by its version, as far as a client meets it: from the SDK's gates and the vendor's source.

export const NEWEST = "0.6.13";

const SINCE = {
	recursiveWatch: "0.1.4",
	secure: "0.2.0",
	closedInput: "0.3.0", // Start knows `stdin`
	defaultUser: "0.4.0",
	closeStdin: "0.5.2",
	gzipFiles: "0.5.4",
	compose: "0.5.6",
	rawUpload: "0.5.7",
	metadata: "0.6.2",
	eventEntry: "0.6.3",
	networkMounts: "0.6.4",
	keptStatus: "0.6.12",
};

const FORM = /^\d+\.\d+\.\d+$/;

function isBefore(one, other) {
	const [a, b] = [one, other].map((version) => version.split(".").map(Number));
	const at = a.findIndex((number, i) => number !== b[i]);
	return at >= 0 && a[at] < b[at];
}

// { NAME: whether a daemon of that version has it }
export function featuresOf(version) {
	if (!FORM.test(version))
		throw new Error(`"${version}" is no version of envd`);
	return Object.fromEntries(Object.entries(SINCE).map(([name, since]) => [name, !isBefore(version, since)]));
}
