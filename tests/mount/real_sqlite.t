#!/bin/sh
# SQLite on a mount, in every journal mode, with readers beside the writer.
. "${0%/*}/../support/tap.sh"
needs sqlite3

sql() { # DATABASE SQL
	as_owner timeout -k 5 600 sqlite3 -bail -cmd '.timeout 30000' "$MNT/$1" "$2"
}

fill() { # DATABASE ROWS
	sql "$1" "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < $2)
		INSERT INTO t SELECT i, hex(randomblob(100)) FROM n; COMMIT;"
}

# One writer adds 30 rows, one by one; two readers count, and must never see less than before.
readers_and_a_writer() { # DATABASE
	as_owner timeout -k 5 600 sh -c '
		for reader in 1 2; do
			(last=0; for round in $(seq 15); do
				now=$(sqlite3 -cmd ".timeout 30000" "$1" "SELECT count(*) FROM t;") || exit 1
				[ "$now" -ge "$last" ] || exit 2
				last=$now
			done) & pids="$pids $!"
		done
		for row in $(seq 30); do
			sqlite3 -cmd ".timeout 30000" "$1" "INSERT INTO t VALUES (1000000 + $row, 1);" || exit 3
		done
		for pid in $pids; do wait $pid || exit; done' - "$MNT/$1"
}

one_mode() { # MODE
	db=$1.db
	is "$1: the mode is taken" "$(sql "$db" "PRAGMA journal_mode=$1;")" "$1"
	ok "$1: a table" sql "$db" "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX i ON t (text);"
	ok "$1: 2,000 rows in one transaction" fill "$db" 2000
	is "$1: a transaction rolled back leaves nothing" \
		"$(sql "$db" "PRAGMA journal_mode=$1; BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*) FROM t;" | tail -n 1)" 2000
	ok "$1: rows changed" sql "$db" "PRAGMA journal_mode=$1; UPDATE t SET text = text || 'x' WHERE id % 3 = 0; DELETE FROM t WHERE id % 7 = 0;"
	ok "$1: two readers beside a writer" readers_and_a_writer "$db"
	ok "$1: vacuum" sql "$db" "VACUUM;"
	is "$1: integrity" "$(sql "$db" "PRAGMA integrity_check;")" ok
	is "$1: the rows are all there" "$(sql "$db" "SELECT count(*) FROM t;")" 1745
}

all_modes() {
	mount_sandbox "sqlite$MOUNT_AS"
	for mode in delete truncate persist wal memory; do
		one_mode $mode
	done
	unmount
}

for_each_user all_modes
done_testing
