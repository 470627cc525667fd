// The metadata that uploads attach to files. The vendor keeps it in xattrs user.e2b.*; here it is remembered for as long
// as the sandbox runs, by inode: it moves with a rename and goes with the file.

const HEADER_PREFIX = "x-metadata-";
const MAX_KEY = 246;
const MAX_TOTAL = 4096;
const PRINTABLE = /^[\x20-\x7e]*$/;

const known = new Map();
const identity = (stat) => `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;

export const readMetadata = (stat) => known.get(identity(stat));

export function writeMetadata(stat, metadata) {
	if (Object.keys(metadata).length)
		known.set(identity(stat), metadata);
	else
		known.delete(identity(stat));
}

export function metadataFromHeaders(headers) {
	const metadata = {};
	for (const [name, value] of Object.entries(headers)) {
		if (name.startsWith(HEADER_PREFIX))
			metadata[name.slice(HEADER_PREFIX.length)] = value;
	}
	return metadata;
}

// What is wrong with it, or undefined.
export function metadataComplaint(metadata) {
	let total = 0;
	for (const [key, value] of Object.entries(metadata)) {
		total += key.length + value.length;
		if (key.length === 0 || key.length > MAX_KEY)
			return `metadata key of ${key.length} bytes, allowed are 1 to ${MAX_KEY}`;
		if (!PRINTABLE.test(key) || !PRINTABLE.test(value))
			return `metadata "${key}" contains characters other than printable ASCII`;
	}
	return total > MAX_TOTAL ? `metadata of ${total} bytes, allowed are ${MAX_TOTAL}` : undefined;
}
