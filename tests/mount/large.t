#!/bin/sh
# A file of 100 MB with every byte value, there and back: nothing on the way changes or loses a byte.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
needs python3

SIZE=100000000
# A whole transfer's worth on a busy machine.
LIMIT=600

# Every value in every order soon, and no block like another.
python3 -c '
import random, sys
random.seed(1)
left = int(sys.argv[2])
with open(sys.argv[1], "wb") as file:
    while left:
        piece = bytes(range(256)) + random.randbytes(min(left, 1 << 20))
        left -= file.write(piece[:left])
' "$SCRATCH/original" $SIZE

mount_sandbox large
ok "100 MB are written" deadline $LIMIT dd if="$SCRATCH/original" of="$MNT/up" bs=1M conv=fsync
is "all of them" "$(stat -c %s "$MNT/up")" $SIZE
ok "and the sandbox has these bytes" cmp "$SCRATCH/original" "$STORE/up"

cp "$SCRATCH/original" "$STORE/down"
wait_until "$PATIENCE" test -s "$MNT/down"
ok "100 MB of the sandbox's own are read, byte for byte" deadline $LIMIT cmp "$SCRATCH/original" "$MNT/down"
unmount
done_testing
