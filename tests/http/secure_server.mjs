// A server with TLS for secure.c: node secure_server.mjs KEY CERT VERSION
// VERSION: "1" for HTTP/1.1, "2" for HTTP/2 and HTTP/1.1, "2/N" where a connection may have N streams at a time,
// "2//N" where the first N connections are taken and never answered.
// Its first line is its port; it ends with its input.
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import fs from 'node:fs'
import { Readable } from 'node:stream'

const [, , key, cert, versionAndStreams] = process.argv
const [version, streams, deaf] = versionAndStreams.split('/')
const options = { key: fs.readFileSync(key), cert: fs.readFileSync(cert), allowHTTP1: true }
if (streams)
	options.settings = { maxConcurrentStreams: Number(streams) }

// 20 MiB, made as they are wanted: Node refuses streams to a client for which too much waits.
function* long() {
	for (let i = 0; i < 320; i++)
		yield Buffer.alloc(64 * 1024, 'x')
}

let sockets = 0
let connections = 0
let waiting = []
let held = []
const muted = new Set()
let roots = 0

function answer(request, response) {
	if (muted.has(request.stream?.session))
		return
	roots += request.url === '/'
	switch (request.url) {
	case '/long':
		return Readable.from(long()).pipe(response)
	case '/wait': // until somebody asks for /release
		return waiting.push(response)
	case '/release':
		for (const w of waiting.splice(0))
			w.end('released')
		return response.end(String(connections))
	case '/hold': // what is sent is not read until somebody asks for /take
		return held.push({ request, response })
	case '/held':
		return response.end(String(held.length))
	case '/take':
		for (const h of held.splice(0))
			h.request.on('end', () => h.response.end('taken')).resume()
		return response.end('')
	case '/mute': // nothing on this connection is answered any more
		response.end('muted')
		return muted.add(request.stream.session)
	case '/late': // nothing on this connection is answered for a second, as behind bytes on the way
		muted.add(request.stream.session)
		return setTimeout(() => request.on('end', () => response.end('taken')).resume(), 1000)
	case '/roots': // how often / was asked for
		return response.end(String(roots))
	case '/sockets':
		return response.end(String(sockets))
	case '/trailers':
		response.writeHead(200, { Trailer: 'grpc-status', 'X-Both': 'header' })
		response.write('body')
		response.addTrailers({ 'grpc-status': '7', 'x-both': 'trailer' })
		return response.end()
	case '/reset': // says how it went, and breaks off
		response.stream.on('error', () => {})
		response.stream.respond({ ':status': 200, 'grpc-status': '12' })
		return response.stream.write('x', () => response.stream.destroy(new Error('reset')))
	default:
		request.resume()
		return request.on('end', () => response.end(`${request.httpVersion} ${connections}`))
	}
}

const server = version === '2' ? http2.createSecureServer(options, answer) : https.createServer(options, answer)
// Node would close the idle connections of a test that stands still.
server.keepAliveTimeout = 0
server.on('connection', () => sockets++)
server.on('secureConnection', () => connections++)
let taken = 0
const door = deaf ? net.createServer((s) => ++taken > Number(deaf) ? server.emit('connection', s) : s.on('error', () => {})) : server
door.listen(0, '127.0.0.1', () => console.log(door.address().port))
process.stdin.on('end', () => process.exit(0)).resume()
