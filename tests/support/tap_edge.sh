# tap_edge.sh - an edge as vendors have one, sourced after tap.sh: HAProxy, which speaks TLS, and
# HTTP/2 where it is asked to.
PATH=$PATH:/usr/sbin
needs haproxy openssl python3

# An authority of its own, which the mounts that follow trust, and a certificate for this machine.
edge_certificate() {
	(
		cd "$SCRATCH" || exit
		exec 2>/dev/null
		set -- -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes
		openssl req -x509 "$@" -keyout ca.key -out ca.pem -days 2 -subj /CN=authority \
			-addext basicConstraints=critical,CA:TRUE
		openssl req "$@" -keyout edge.key -out request.pem -subj /CN=edge
		echo subjectAltName=IP:127.0.0.1 >names
		openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out edge.crt
		cat edge.crt edge.key >edge.pem
	) && export SSL_CERT_FILE="$SCRATCH/ca.pem"
	unset CURL_CA_BUNDLE SSL_CERT_DIR
}

# Each request is a line of the log once it has ended: the version of HTTP, the bytes that came and
# that went, the client's port, which is the connection, and the path.
edge_config() { # PORT
	cat <<-END
		global
		    log stdout format raw local0
		defaults
		    mode http
		    timeout connect 60s
		    timeout client 600s
		    timeout server 600s
		    timeout http-keep-alive 600s
		frontend edge
		    bind fd@9 ssl crt $SCRATCH/edge.pem alpn h2,http/1.1
		    log global
		    log-format "%HV %U %B %cp %HP"
		    default_backend server
		backend server
		    server server 127.0.0.1:$1
	END
}

edge_listens() { # NAME
	[ -s "$SCRATCH/$1.port" ] || ended "$EDGE"
}

# start_edge NAME URL: between clients and the server that has this URL. $EDGE is its process,
# edge_url NAME prints where it is, and its log is $SCRATCH/NAME.log.
start_edge() {
	edge_certificate
	edge_config "${2##*:}" >"$SCRATCH/$1.cfg"
	python3 -c '
import os, socket, sys
server = socket.create_server(("127.0.0.1", 0))
os.dup2(server.fileno(), 9)
with open(sys.argv[1], "w") as port:
    print(server.getsockname()[1], file=port)
os.execvp("haproxy", ["haproxy", "-db", "-f", sys.argv[2]])' \
		"$SCRATCH/$1.port" "$SCRATCH/$1.cfg" >"$SCRATCH/$1.log" 2>"$SCRATCH/$1.err" &
	EDGE=$!
	tap_helpers="$tap_helpers $EDGE"
	wait_until "$PATIENCE" edge_listens "$1"
	alive "$EDGE" || skip_all "HAProxy does not run here: $(head -n 3 "$SCRATCH/$1.err")"
}

edge_url() { # NAME
	echo "https://127.0.0.1:$(cat "$SCRATCH/$1.port")"
}
