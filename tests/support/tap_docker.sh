# tap_docker.sh - containers of a Docker daemon of the test's own, sourced after tap.sh. It has no network, and its images,
# containers and socket go with the test.

# docker_start: ends the test where none can be. With DOCKER_BRIDGE=1 containers have ports, in the daemon's own network.
docker_start() {
	needs docker dockerd
	DOCKER_DIR=$SCRATCH/docker
	export DOCKER_HOST="unix://$DOCKER_DIR/socket"
	mkdir "$DOCKER_DIR"
	# A bridge needs a network of its own, whose loopback is down at first.
	set -- dockerd --bridge=none
	[ -z "${DOCKER_BRIDGE:-}" ] || set -- unshare --net sh -c 'busybox ip link set lo up && exec "$@"' - dockerd
	"$@" --data-root "$DOCKER_DIR/data" --exec-root "$DOCKER_DIR/exec" --host "$DOCKER_HOST" --pidfile "$DOCKER_DIR/pid" \
		--iptables=false --ip6tables=false --ip-forward=false >"$DOCKER_DIR/log" 2>&1 &
	DOCKER_DAEMON=$!
	tap_helpers="$tap_helpers $DOCKER_DAEMON"
	wait_until "$PATIENCE" docker_answers_or_ended
	docker_answers ||
		skip_all "no Docker daemon runs here: $(tail -n 1 "$DOCKER_DIR/log")"
}

docker_answers() {
	deadline 60 docker version >/dev/null 2>&1
}

docker_answers_or_ended() {
	docker_answers || ended "$DOCKER_DAEMON"
}

# docker_stop: what it mounted goes as well, so that the script's directory can.
docker_stop() {
	kill "$DOCKER_DAEMON"
	wait_until "$PATIENCE" ended "$DOCKER_DAEMON"
}

# docker_image NAME ROOT [TAR-OPTION...]: an image of what is below a directory.
docker_image() {
	docker_name=$1
	docker_root=$2
	shift 2
	tar -C "$docker_root" "$@" -c . | deadline "$PATIENCE" docker import - "$docker_name" >/dev/null
}
