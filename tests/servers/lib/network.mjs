// Where the programs of a sandbox may go, as vendors have it: ranges of addresses, and names of hosts.
import net from "node:net";

export function isRange(text) {
	const [, address, bits] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
	return net.isIP(address ?? "") !== 0 && Number(bits) <= (net.isIPv4(address) ? 32 : 128);
}

export const isAddresses = (text) => net.isIP(text) !== 0 || isRange(text);

export const isHost = (text) => /^(\*\.)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$/i.test(text) && !/^[\d.]+$/.test(text);
