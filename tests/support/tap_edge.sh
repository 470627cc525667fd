# tap_edge.sh - an edge as vendors have one, sourced after tap.sh: HAProxy or nginx, which speak TLS,
# and HTTP/2 where it is asked for.
PATH=$PATH:/usr/sbin
needs haproxy nginx openssl python3

# An authority of its own, which the mounts that follow trust, and a certificate for this machine.
edge_certificate() {
	[ ! -s "$SCRATCH/edge.pem" ] || return 0
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
	)
}

# Each request is a line of the log once it has ended: the version of HTTP, the bytes that came and
# that went, the client's port, which is the connection, the edge's process, the path, and of HAProxy
# how many connections that process had.
edge_haproxy() { # NAME URL
	case $2 in
	https:*) edge_server="ssl verify none alpn h2" ;;
	*) edge_server= ;;
	esac
	cat <<-END
		global
		    log stdout format raw local0
		    hard-stop-after 600s
		defaults
		    mode http
		    timeout connect 60s
		    timeout client 600s
		    timeout server 600s
		    timeout http-keep-alive 600s
		frontend edge
		    bind fd@9 ssl crt $SCRATCH/edge.pem alpn h2,http/1.1
		    log global
		    log-format "%HV %U %B %cp %pid %HP %fc"
		    default_backend server
		backend server
		    server server 127.0.0.1:${2##*:} $edge_server
	END
}

# So many requests are answered on a connection of nginx's before it says GOAWAY.
EDGE_REQUESTS=1000
# A connection of nginx's without a request is closed after so many seconds.
EDGE_IDLE=600

# Servers of gRPC are those with TLS here, by which HTTP/2 is agreed upon.
edge_nginx_pass() { # URL
	case $1 in
	https:*) printf 'grpc_%s;\n' "pass grpcs://${1#https://}" 'read_timeout 600s' 'send_timeout 600s' ;;
	*)
		printf 'proxy_%s;\n' "pass $1" 'http_version 1.1' 'set_header Connection ""' \
			"set_header Host \$http_host" 'buffering off' 'request_buffering off' \
			'read_timeout 600s' 'send_timeout 600s'
		;;
	esac
}

edge_nginx() { # NAME URL
	[ "$(id -u)" -ne 0 ] || echo "user root;"
	cat <<-END
		daemon off;
		worker_processes 1;
		error_log $SCRATCH/$1.err;
		pid $SCRATCH/$1.pid;
		events {}
		http {
		    log_format edge '\$server_protocol \$request_length \$bytes_sent \$remote_port \$pid \$uri';
		    access_log $SCRATCH/$1.log edge;
		    $(printf "%s_temp_path $SCRATCH/$1.temp;\n" client_body proxy fastcgi uwsgi scgi)
		    client_max_body_size 0;
		    keepalive_timeout ${EDGE_IDLE}s;
		    keepalive_requests $EDGE_REQUESTS;
		    server {
		        listen 127.0.0.1:PORT ssl http2;
		        ssl_certificate $SCRATCH/edge.pem;
		        ssl_certificate_key $SCRATCH/edge.key;
		        location / {
		            $(edge_nginx_pass "$2")
		        }
		    }
		}
	END
}

# Becomes the program, whose descriptor 9 listens on a port that the system chose. nginx, which knows
# such a descriptor by its address, is told of it in the configuration and in its environment.
edge_exec() { # NAME COMMAND...
	edge_name=$1
	shift
	exec python3 -c '
import os, socket, sys
where, *command = sys.argv[1:]
server = socket.create_server(("127.0.0.1", 0))
port = str(server.getsockname()[1])
os.dup2(server.fileno(), 9)
with open(where + ".cfg", "r+") as config:
    text = config.read().replace("127.0.0.1:PORT", "127.0.0.1:" + port)
    config.seek(0)
    config.write(text)
with open(where + ".port", "w") as file:
    print(port, file=file)
os.environ["NGINX"] = "9;"
os.execvp(command[0], command)' "$SCRATCH/$edge_name" "$@"
}

edge_command() { # NAME KIND
	case $2 in
	haproxy) edge_exec "$1" haproxy -W -db -f "$SCRATCH/$1.cfg" >"$SCRATCH/$1.log" 2>"$SCRATCH/$1.err" ;;
	nginx) edge_exec "$1" nginx -c "$SCRATCH/$1.cfg" 2>"$SCRATCH/$1.err" ;;
	esac
}

edge_listens() { # NAME
	[ -s "$SCRATCH/$1.port" ] || ended "$EDGE"
}

# start_edge NAME URL [KIND]: haproxy, or nginx, between clients and the server that has this URL.
# $EDGE is its process, edge_url NAME prints where it is, and its log is $SCRATCH/NAME.log.
start_edge() {
	edge_certificate
	export SSL_CERT_FILE="$SCRATCH/ca.pem"
	unset CURL_CA_BUNDLE SSL_CERT_DIR
	edge_"${3:-haproxy}" "$1" "$2" >"$SCRATCH/$1.cfg"
	edge_command "$1" "${3:-haproxy}" &
	EDGE=$!
	tap_helpers="$tap_helpers $EDGE"
	wait_until "$PATIENCE" edge_listens "$1"
	alive "$EDGE" || skip_all "${3:-haproxy} does not run here: $(head -n 3 "$SCRATCH/$1.err")"
}

# Another process takes its connections from now on; the one before ends with those that it has.
reload_edge() { # KIND
	case $1 in
	haproxy) kill -USR2 "$EDGE" ;;
	nginx) kill -HUP "$EDGE" ;;
	esac
}

edge_url() { # NAME
	echo "https://127.0.0.1:$(cat "$SCRATCH/$1.port")"
}
