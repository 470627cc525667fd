// A timer that speaks up when a stream has been silent for what the Keepalive-Ping-Interval header says.

const DEFAULT_S = 90;

export function keepalive(headers, ping) {
	const given = headers["keepalive-ping-interval"];
	const seconds = /^\d+$/.test(given ?? "") && Number(given) > 0 ? Number(given) : DEFAULT_S;
	const timer = setInterval(ping, seconds * 1000);
	return { restart: () => timer.refresh(), stop: () => clearInterval(timer) };
}
