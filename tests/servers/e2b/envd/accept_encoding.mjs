// Whether a download is compressed: Accept-Encoding as envd reads it.

function parse(header) {
	return header.split(",").map((part) => {
		const [name, ...parameters] = part.split(";").map((piece) => piece.trim());
		const quality = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
		return { name: name.toLowerCase(), quality: quality !== undefined && !isNaN(quality) ? Number(quality) : 1 };
	});
}

export function isIdentityRefused(header = "") {
	const accepted = header ? parse(header) : [];
	const has = (name, isWanted) => accepted.some((one) => one.name === name && (one.quality > 0) === isWanted);
	return has("identity", false) || (has("*", false) && !has("identity", true));
}

// "gzip", "identity", or undefined when nothing is acceptable.
export function chooseEncoding(header = "") {
	const isRefused = isIdentityRefused(header);
	const byQuality = (header ? parse(header) : []).sort((a, b) => b.quality - a.quality);
	for (const { name, quality } of byQuality) {
		if (quality > 0 && ["identity", "gzip"].includes(name))
			return name;
		if (quality > 0 && name === "*")
			return isRefused ? "gzip" : "identity";
	}
	return isRefused ? undefined : "identity";
}
