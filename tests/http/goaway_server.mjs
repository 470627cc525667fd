// An HTTP/2 server for goaway.c, which writes its frames itself: node goaway_server.mjs KEY CERT WORDS
// The n-th of the WORDS, with blanks between them, is what it does about the n-th request; about all
// that follow: `answer`. An answer says how many requests were done and how many connections came.
//
//	answer        does it and answers
//	last          does it, says GOAWAY of all that follow on the connection, and answers
//	idle          the same, and closes the connection behind the answer
//	hold          does it, and answers after the next GOAWAY
//	goaway        does not do it, and says so with GOAWAY
//	close         the same, and closes the connection
//	phases        the same in two phases: first that the connection is going to end, then where
//	closed        does it, says GOAWAY of all that follow, and closes the connection without an answer
//	refuse        does it, and says REFUSED_STREAM, as HAProxy does of a server that breaks off
//
// Its first line is its port; it ends with its input.
import fs from 'node:fs'
import tls from 'node:tls'

const [, , key, cert, words] = process.argv
const does = words.split(' ').filter(Boolean)

const DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7
const END_STREAM = 1, ACK = 1, END_HEADERS = 4
const REFUSED_STREAM = 7
const STREAM_MAX = 0x7fffffff
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const STATUS_200 = Buffer.from([0x88]) // of HPACK's static table

let arrived = 0
let done = 0
let connections = 0

function uint32s(...numbers) {
	const bytes = Buffer.alloc(4 * numbers.length)
	numbers.forEach((number, i) => bytes.writeUInt32BE(number, 4 * i))
	return bytes
}

class Connection {
	constructor(socket) {
		this.socket = socket
		this.number = ++connections
		this.input = Buffer.alloc(0)
		this.lastDone = 0
		this.isGoing = false
		this.held = []
		socket.on('data', bytes => this.take(bytes)).on('error', () => {})
		this.frame(SETTINGS, 0, 0)
	}

	frame(type, flags, stream, payload = Buffer.alloc(0)) {
		const head = Buffer.alloc(9)
		head.writeUIntBE(payload.length, 0, 3)
		head[3] = type
		head[4] = flags
		head.writeUInt32BE(stream, 5)
		this.socket.write(Buffer.concat([head, payload]))
	}

	take(bytes) {
		this.input = Buffer.concat([this.input, bytes])
		if (!this.isGreeted && this.input.length >= PREFACE.length) {
			this.isGreeted = true
			this.input = this.input.subarray(PREFACE.length)
		}
		while (this.isGreeted && this.input.length >= 9) {
			const length = this.input.readUIntBE(0, 3)
			if (this.input.length < 9 + length)
				return
			const [type, flags, stream] = [this.input[3], this.input[4], this.input.readUInt32BE(5)]
			const payload = this.input.subarray(9, 9 + length)
			this.input = this.input.subarray(9 + length)
			this.handle(type, flags, stream, payload)
		}
	}

	handle(type, flags, stream, payload) {
		if (type === SETTINGS && !(flags & ACK))
			this.frame(SETTINGS, ACK, 0)
		else if (type === PING && !(flags & ACK))
			this.frame(PING, ACK, 0, payload)
		else if ((type === HEADERS || type === DATA) && flags & END_STREAM && !this.isGoing)
			this.request(stream)
	}

	request(stream) {
		switch (does[arrived++]) {
		case 'last':
			this.do(stream)
			this.goaway(stream)
			return this.answer(stream)
		case 'idle':
			this.do(stream)
			this.goaway(stream)
			this.answer(stream)
			return this.socket.end()
		case 'hold':
			this.do(stream)
			return this.held.push(stream)
		case 'goaway':
			return this.goaway(this.lastDone)
		case 'close':
			this.goaway(this.lastDone)
			return this.socket.end()
		case 'phases':
			this.frame(GOAWAY, 0, 0, uint32s(STREAM_MAX, 0))
			return this.goaway(this.lastDone)
		case 'closed':
			this.do(stream)
			this.goaway(stream)
			return this.socket.end()
		case 'refuse':
			this.do(stream)
			return this.frame(RST_STREAM, 0, stream, uint32s(REFUSED_STREAM))
		default:
			this.do(stream)
			return this.answer(stream)
		}
	}

	do(stream) {
		done++
		this.lastDone = stream
	}

	goaway(last) {
		this.isGoing = true
		this.frame(GOAWAY, 0, 0, uint32s(last, 0))
		for (const stream of this.held.splice(0))
			this.answer(stream)
	}

	answer(stream) {
		this.frame(HEADERS, END_HEADERS, stream, STATUS_200)
		this.frame(DATA, END_STREAM, stream, Buffer.from(`${done} ${arrived} ${this.number}`))
	}
}

const options = { key: fs.readFileSync(key), cert: fs.readFileSync(cert), ALPNProtocols: ['h2'] }
const server = tls.createServer(options, socket => new Connection(socket))
server.on('tlsClientError', () => {})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.on('end', () => process.exit(0)).resume()
