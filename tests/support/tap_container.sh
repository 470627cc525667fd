# tap_container.sh - containers that are sandboxes, for tap.sh, which reads this and tap_docker.sh with PROVIDER=docker.
#
# What tap.sh calls "local:demo" is the container demo, whose user is the one who mounts. Its system is this machine's /usr,
# its files lie in a layer of its own.

# The machine's programs, and what is not in /usr.
docker_host_image() {
	mkdir -p image/etc image/home image/tmp image/var/tmp image/usr image/proc image/dev image/sys image/root
	chmod 1777 image/tmp image/var/tmp image/home
	for docker_link in bin lib lib64 sbin; do
		[ ! -L "/$docker_link" ] || ln -sfn "usr/$docker_link" "image/$docker_link"
	done
	cp /etc/passwd /etc/group /etc/ld.so.cache image/etc
	cp -a /etc/alternatives image/etc
	ok "an image of this machine's programs" docker_image host image
}

docker_ensure() {
	[ -z "${DOCKER_DAEMON:-}" ] || return 0
	docker_start
	# Ordinary users ask it as well.
	chmod 755 "$DOCKER_DIR"
	chmod 666 "$DOCKER_DIR/socket"
	docker_host_image
}

# Sets SANDBOX and STORE.
vendor_sandbox() { # NAME
	docker_ensure
	SANDBOX=$1.$MOUNT_AS
	docker_home=/home/$SANDBOX
	# shellcheck disable=SC2016 # of the shell inside
	docker inspect "$SANDBOX" >/dev/null 2>&1 ||
		docker run -d --name "$SANDBOX" --network none --user "$MOUNT_AS" -e HOME="$docker_home" -w "$docker_home" -v /usr:/usr:ro host sh -c '
			trap exit TERM; while :; do sleep 1000 & wait; done' >/dev/null
	# The daemon makes the directory to begin in, as root.
	docker exec --user 0 "$SANDBOX" chown "$MOUNT_AS:$MOUNT_AS" "$docker_home"
	docker_merged=$(docker inspect -f '{{.GraphDriver.Data.MergedDir}}' "$SANDBOX")
	# Its owner looks at it, too.
	chmod o+x "$DOCKER_DIR/data" "$DOCKER_DIR/data/overlay2" "${docker_merged%/*}"
	STORE_ROOT=$docker_merged
	STORE=$STORE_ROOT$docker_home
}

vendor_home() { # DIRECTORY
	echo "$1"
}

vendor_stop() {
	[ -z "${DOCKER_DAEMON:-}" ] || ended "$DOCKER_DAEMON" || {
		docker ps -aq | xargs -r docker rm -f >/dev/null 2>&1
		docker_stop
	}
}
