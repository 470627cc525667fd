// Waits for something that announces its changes as "change".

// Resolves with whether isThere() became true within `ms`.
export function until(emitter, isThere, ms) {
	return new Promise((resolve) => {
		const finish = (result) => {
			clearTimeout(timer);
			emitter.off("change", check);
			resolve(result);
		};
		const check = () => isThere() && finish(true);
		const timer = setTimeout(() => finish(false), ms);
		emitter.on("change", check);
		check();
	});
}
