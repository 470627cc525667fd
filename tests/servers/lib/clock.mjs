// The clock of a test server, which may differ from that of this machine: --skew SECONDS. Every time that the server says
// or compares is by it, the header Date included. Sandboxes have the machine's clock.

const Real = Date;
let skewMs = 0;

class Skewed extends Real {
	constructor(...given) {
		super(...(given.length ? given : [Skewed.now()]));
	}

	static now() {
		return Real.now() + skewMs;
	}
}

// What was said before stays by the clock of then.
export function setSkew(seconds) {
	skewMs = seconds * 1000;
	globalThis.Date = skewMs ? Skewed : Real;
}

export function sayTime(res) {
	if (skewMs)
		res.setHeader("Date", new Date().toUTCString());
}
