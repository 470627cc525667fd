// A file's mode as the Go language writes it, in which most daemons of vendors are written.

const LETTERS = "rwxrwxrwx";

// "-rw-r--r--", "dtrwxrwxrwx", "urwxr-xr-x", "Dcrw-rw-rw-"; of a stat with or without bigint.
export function goMode(stat) {
	const mode = Number(stat.mode);
	const kind = (stat.isDirectory() ? "d" : "") + (stat.isSymbolicLink() ? "L" : "") +
		(stat.isBlockDevice() || stat.isCharacterDevice() ? "D" : "") + (stat.isFIFO() ? "p" : "") +
		(stat.isSocket() ? "S" : "") + (mode & 0o4000 ? "u" : "") + (mode & 0o2000 ? "g" : "") +
		(stat.isCharacterDevice() ? "c" : "") + (mode & 0o1000 ? "t" : "");
	const bits = [...LETTERS].map((letter, i) => (mode & (0o400 >> i) ? letter : "-")).join("");
	return (kind || "-") + bits;
}
