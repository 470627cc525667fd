# tap_counters.sh - what a vendor's test server counted, sourced after tap.sh with PROVIDER=VENDOR.

reset() {
	vendor_request POST "$ADMIN/reset" >/dev/null
}

# What was counted since reset, and of it a number in the total.
counters() {
	vendor_request GET "$ADMIN/counters"
}

total() { # NAME
	counters | sed "s/.*\"total\":{[^}]*\"$1\":\([0-9]*\).*/\1/"
}

requests() {
	total requests
}

at_most() { # NAME LIMIT
	got=$(requests)
	is "$1: at most $2 requests ($got)" "$([ "$got" -le "$2" ] && echo yes)" yes || diag "$(counters)"
}
