#!/bin/sh
# git on a mount: a repository's whole life.
. "${0%/*}/../support/tap.sh"
needs git

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@example.com
export GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@example.com

git_here() {
	as_owner timeout -k 5 600 git -C "$MNT/repo" "$@"
}

write_sources() {
	as_owner sh -c 'cd "$1" && mkdir -p src/deep/er doc && for i in $(seq 60); do
		echo "int f$i(void) { return $i; }" >src/f$i.c; echo "$i" >src/deep/er/$i; done &&
		ln -s ../src/f1.c doc/link && printf "\0\1\2binary" >bin && chmod +x bin' - "$MNT/repo"
}

life_of_a_repository() {
	mount_sandbox "git$MOUNT_AS"
	ok "init" as_owner git init -q -b main "$MNT/repo"
	ok "sources are written" write_sources
	ok "add" git_here add -A
	ok "commit" git_here commit -q -m first
	is "status is clean" "$(git_here status --porcelain)" ""
	ok "branch" git_here checkout -q -b side
	ok "change on the branch" as_owner sh -c 'sed -i s/return/return\ 1+/ "$1"/src/f[1-9].c && rm "$1/src/f60.c"' - "$MNT/repo"
	is "status sees ten changes" "$(git_here status --porcelain | wc -l)" 10
	ok "commit on the branch" git_here commit -q -a -m side
	ok "checkout" git_here checkout -q main
	is "the old contents are back" "$(as_owner cat "$MNT/repo/src/f1.c")" "int f1(void) { return 1; }"
	ok "a change of one's own" as_owner sh -c 'echo more >>"$1/doc/new"' - "$MNT/repo"
	ok "add it" git_here add doc/new
	ok "commit it" git_here commit -q -m main2
	ok "merge" git_here merge -q -m merge side
	ok "the branch's removal came along" as_owner test ! -e "$MNT/repo/src/f60.c"
	ok "an uncommitted change" as_owner sh -c 'echo x >>"$1/doc/new"' - "$MNT/repo"
	ok "diff sees it" as_owner sh -c '! git -C "$1" diff --quiet' - "$MNT/repo"
	ok "stash push" git_here stash -q
	ok "stash pop" git_here stash pop -q
	ok "reset" git_here reset -q --hard
	ok "gc" git_here gc -q --prune=now
	ok "fsck" git_here fsck --full --strict
	ok "clone on the mount" as_owner timeout 120 git clone -q "$MNT/repo" "$MNT/clone"
	is "the clone has the same tree" "$(as_owner git -C "$MNT/clone" rev-parse 'HEAD^{tree}')" \
		"$(git_here rev-parse 'HEAD^{tree}')"
	ok "bisect-like walk: checkout of the first commit" git_here checkout -q HEAD~1
	is "status is clean at the end" "$(git_here status --porcelain)" ""
	unmount
}

for_each_user life_of_a_repository
done_testing
