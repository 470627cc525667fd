// GET /metrics: what the sandbox's machine has and uses.
import fs from "node:fs";
import os from "node:os";

const MIB = 1 << 20;

function disk() {
	const { bsize, blocks, bavail } = fs.statfsSync ? fs.statfsSync("/home") : { bsize: 4096, blocks: 2621440, bavail: 2097152 };
	return { disk_total: bsize * blocks, disk_used: bsize * (blocks - bavail) };
}

export function metrics() {
	const total = os.totalmem();
	const used = total - os.freemem();
	return {
		ts: Math.floor(Date.now() / 1000),
		cpu_count: os.cpus().length,
		cpu_used_pct: Math.round((os.loadavg()[0] / os.cpus().length) * 10000) / 100,
		mem_total: total,
		mem_used: used,
		mem_cache: 0,
		mem_total_mib: Math.floor(total / MIB),
		mem_used_mib: Math.floor(used / MIB),
		...disk(),
	};
}
