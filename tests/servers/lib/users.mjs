// The sandbox's users and groups, from its own /etc/passwd and /etc/group, read again when they change.
import fs from "node:fs";

const SEPARATOR = ":";

function table(path, parse) {
	let stamp = null;
	let rows = [];
	return () => {
		const { mtimeMs, ino } = fs.statSync(path);
		if (stamp !== `${ino} ${mtimeMs}`) {
			stamp = `${ino} ${mtimeMs}`;
			rows = fs.readFileSync(path, "utf8").split("\n").filter(Boolean).map((row) => parse(row.split(SEPARATOR)));
		}
		return rows;
	};
}

const users = table("/etc/passwd", ([name, , uid, gid, , home]) => ({ name, uid: Number(uid), gid: Number(gid), home }));
const groups = table("/etc/group", ([name, , gid]) => ({ name, gid: Number(gid) }));

export const findUser = (name) => users().find((user) => user.name === name);
export const ownerName = (uid) => users().find((user) => user.uid === uid)?.name ?? String(uid);
export const findGroup = (name) => groups().find((group) => group.name === name);
export const groupName = (gid) => groups().find((group) => group.gid === gid)?.name ?? String(gid);

// Only root can act as somebody else; without it everything belongs to who runs this.
export const isRoot = process.geteuid() === 0;
