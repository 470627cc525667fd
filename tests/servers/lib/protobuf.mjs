// Protocol buffers without generated code: messages described as tables, in the binary format and in its JSON mapping.
//
// A message is { jsonName: field(number, type, options) }. Types: "string", "bytes", "bool", "uint32", "sint32",
// "int64", "float", "double", "timestamp", an enumeration made by enumeration(), or another message. Values in memory:
// Buffer for bytes, a number for numbers and enumerations, { seconds, nanos } for times; what is absent is undefined.

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;
const FIXED_SIZE = { [FIXED64]: 8, [FIXED32]: 4 };

export class ProtobufError extends Error {}

// Options: repeated, map (string to string), optional (tells absent from default; also for members of a oneof).
export const field = (number, type, options = {}) => ({ number, type, ...options });
export const enumeration = (names) => ({ enumeration: names });
const isMessage = (type) => typeof type === "object" && !type.enumeration;
const isLengthDelimited = (type) =>
	isMessage(type) || type === "string" || type === "bytes" || type === "timestamp";
const wireOf = (type) =>
	isLengthDelimited(type) ? LENGTH : type === "double" ? FIXED64 : type === "float" ? FIXED32 : VARINT;

const TIMESTAMP = { seconds: field(1, "int64"), nanos: field(2, "uint32") };
const MAP_ENTRY = { key: field(1, "string"), value: field(2, "string") };

const isDefault = (value) =>
	value === undefined || value === null || value === 0 || value === "" || value === false ||
	(Buffer.isBuffer(value) && value.length === 0);

// ---- Binary: encoding ----------------------------------------------------------------------------

function varint(value) {
	const bytes = [];
	let rest = value;
	for (; rest >= 0x80; rest = Math.floor(rest / 0x80))
		bytes.push((rest % 0x80) | 0x80);
	bytes.push(rest);
	return Buffer.from(bytes);
}

// Negative ones are written as if they had 64 bits.
function negativeVarint(value) {
	const bytes = [];
	let rest = BigInt.asUintN(64, BigInt(value));
	for (; rest >= 0x80n; rest >>= 7n)
		bytes.push(Number(rest & 0x7fn) | 0x80);
	bytes.push(Number(rest));
	return Buffer.from(bytes);
}

function fixed(type, value) {
	const bytes = Buffer.alloc(FIXED_SIZE[wireOf(type)]);
	if (type === "double")
		bytes.writeDoubleLE(value);
	else
		bytes.writeFloatLE(value);
	return bytes;
}

const sizeOf = (parts) => parts.reduce((sum, part) => sum + part.length, 0);

// The bytes stay in parts until the end: what commands say is large, and lies four messages deep.
function payloadParts(type, value) {
	if (isMessage(type))
		return messageParts(type, value);
	if (type === "timestamp")
		return messageParts(TIMESTAMP, value);
	return [Buffer.isBuffer(value) ? value : Buffer.from(value, "utf8")];
}

function fieldParts({ number, type }, value) {
	if (isLengthDelimited(type)) {
		const body = payloadParts(type, value);
		return [varint((number << 3) | LENGTH), varint(sizeOf(body)), ...body];
	}
	if (wireOf(type) !== VARINT)
		return [varint((number << 3) | wireOf(type)), fixed(type, value)];
	const plain = type === "sint32" ? ((value << 1) ^ (value >> 31)) >>> 0 : Number(value);
	return [varint((number << 3) | VARINT), plain < 0 ? negativeVarint(plain) : varint(plain)];
}

function memberParts(f, member) {
	if (f.map) {
		return Object.entries(member).flatMap(([key, text]) =>
			fieldParts({ number: f.number, type: MAP_ENTRY }, { key, value: text }));
	}
	if (f.repeated)
		return member.flatMap((one) => fieldParts(f, one));
	return f.optional || isMessage(f.type) || !isDefault(member) ? fieldParts(f, member) : [];
}

function messageParts(message, value) {
	const parts = [];
	for (const [name, f] of Object.entries(message)) {
		if (value[name] !== undefined)
			parts.push(...memberParts(f, value[name]));
	}
	return parts;
}

export const encode = (message, value) => Buffer.concat(messageParts(message, value));

// ---- Binary: decoding ----------------------------------------------------------------------------

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	get more() {
		return this.at < this.bytes.length;
	}

	varint() {
		let value = 0n;
		for (let shift = 0n; shift < 70n; shift += 7n) {
			if (!this.more)
				throw new ProtobufError("unexpected EOF");
			const byte = this.bytes[this.at++];
			value |= BigInt(byte & 0x7f) << shift;
			if (byte < 0x80)
				return value;
		}
		throw new ProtobufError("variable length integer overflow");
	}

	slice(length) {
		if (length > this.bytes.length - this.at)
			throw new ProtobufError("unexpected EOF");
		this.at += length;
		return this.bytes.subarray(this.at - length, this.at);
	}

	skip(wire) {
		if (wire === VARINT)
			this.varint();
		else if (wire === LENGTH)
			this.slice(Number(this.varint()));
		else if (FIXED_SIZE[wire])
			this.slice(FIXED_SIZE[wire]);
		else
			throw new ProtobufError("cannot parse reserved wire type");
	}
}

function text(bytes) {
	const decoded = bytes.toString("utf8");
	if (Buffer.byteLength(decoded) !== bytes.length || !Buffer.from(decoded).equals(bytes))
		throw new ProtobufError("string field contains invalid UTF-8");
	return decoded;
}

function readLengthDelimited(type, bytes) {
	if (type === "string")
		return text(bytes);
	if (type === "bytes")
		return bytes;
	return decode(type === "timestamp" ? TIMESTAMP : type, bytes);
}

function readVarint(type, raw) {
	if (type === "bool")
		return raw !== 0n;
	if (type === "sint32")
		return Number(BigInt.asIntN(32, (raw >> 1n) ^ -(raw & 1n)));
	return Number(type === "int64" ? BigInt.asIntN(64, raw) : BigInt.asUintN(32, raw));
}

function readValue(type, reader) {
	switch (wireOf(type)) {
	case LENGTH:
		return readLengthDelimited(type, reader.slice(Number(reader.varint())));
	case FIXED64:
		return reader.slice(FIXED_SIZE[FIXED64]).readDoubleLE();
	case FIXED32:
		return reader.slice(FIXED_SIZE[FIXED32]).readFloatLE();
	default:
		return readVarint(type, reader.varint());
	}
}

function store(value, name, f, one) {
	if (f.map)
		value[name] = { ...value[name], [one.key ?? ""]: one.value ?? "" };
	else if (f.repeated)
		(value[name] ??= []).push(one);
	else
		value[name] = one;
}

export function decode(message, bytes) {
	const byNumber = new Map(Object.entries(message).map(([name, f]) => [f.number, [name, f]]));
	const reader = new Reader(bytes);
	const value = {};
	while (reader.more) {
		const tag = Number(reader.varint());
		const [name, f] = byNumber.get(tag >>> 3) ?? [];
		const type = f?.map ? MAP_ENTRY : f?.type;
		if (!f || (tag & 7) !== wireOf(type))
			reader.skip(tag & 7);
		else
			store(value, name, f, readValue(type, reader));
	}
	return value;
}

// ---- The JSON mapping: writing ---------------------------------------------------------------------

function timestampText({ seconds = 0, nanos = 0 }) {
	const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
	const digits = nanos.toString().padStart(9, "0");
	const fraction = nanos === 0 ? "" : digits.endsWith("000000") ? digits.slice(0, 3) :
		digits.endsWith("000") ? digits.slice(0, 6) : digits;
	return `${whole}${fraction && "."}${fraction}Z`;
}

function scalarToJson(type, value) {
	if (type.enumeration)
		return type.enumeration[value] ?? value;
	if (isMessage(type))
		return toJson(type, value);
	if (type === "bytes")
		return value.toString("base64");
	if (type === "int64")
		return String(value);
	return type === "timestamp" ? timestampText(value) : value;
}

export function toJson(message, value) {
	const json = {};
	for (const [name, f] of Object.entries(message)) {
		const member = value[name];
		if (member === undefined)
			continue;
		if (f.map)
			Object.keys(member).length && (json[name] = member);
		else if (f.repeated)
			member.length && (json[name] = member.map((one) => scalarToJson(f.type, one)));
		else if (f.optional || isMessage(f.type) || !isDefault(member))
			json[name] = scalarToJson(f.type, member);
	}
	return json;
}

// ---- The JSON mapping: reading ---------------------------------------------------------------------

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function integer(value, what) {
	const number = typeof value === "string" && value !== "" ? Number(value) : value;
	if (!Number.isInteger(number))
		throw new ProtobufError(`invalid value for ${what} type: ${JSON.stringify(value)}`);
	return number;
}

function wanted(kind, value, what) {
	if (typeof value !== kind)
		throw new ProtobufError(`invalid value for ${what} type: ${JSON.stringify(value)}`);
	return value;
}

function enumFromJson(names, value) {
	const number = typeof value === "string" ? names.findIndex((name) => name === value) : value;
	if (!Number.isInteger(number) || number < 0)
		throw new ProtobufError(`invalid value for enum type: ${JSON.stringify(value)}`);
	return number;
}

function scalarFromJson(type, value) {
	if (type.enumeration)
		return enumFromJson(type.enumeration, value);
	if (isMessage(type))
		return fromJson(type, value);
	if (type === "bytes")
		return Buffer.from(wanted("string", value, "bytes"), "base64");
	if (type === "string")
		return wanted("string", value, "string");
	return type === "bool" ? wanted("boolean", value, "bool") : integer(value, type);
}

function memberFromJson(f, value) {
	if (f.map) {
		Object.values(wanted("object", value, "map")).forEach((one) => wanted("string", one, "string"));
		return value;
	}
	if (!f.repeated)
		return scalarFromJson(f.type, value);
	if (!Array.isArray(value))
		throw new ProtobufError(`syntax error: unexpected token ${JSON.stringify(value)}`);
	return value.map((one) => scalarFromJson(f.type, one));
}

export function fromJson(message, json) {
	if (typeof json !== "object" || json === null || Array.isArray(json))
		throw new ProtobufError(`syntax error: unexpected token ${JSON.stringify(json)}`);
	const value = {};
	for (const [name, f] of Object.entries(message)) {
		const member = json[name] ?? json[snake(name)];
		if (member !== undefined && member !== null)
			value[name] = memberFromJson(f, member);
	}
	return value;
}
