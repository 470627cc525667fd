#!/bin/sh
# What make bench and make budgets say of the figures they are given.
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"

needs python3
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/tests/bench:$TOP/tests/budgets"

# ---- The table and the picture of make bench -------------------------------------------------------

cat >rows.py <<'END'
def row(system, workload, phase, seconds, wrong=None, given_up_after=None, **counters):
    return {"system": system, "link": "40 ms, 100 Mbit/s", "workload": workload, "phase": phase, "seconds": seconds,
            "landed": None, "wrong": wrong, "given_up_after": given_up_after, **counters}


ROWS = [
    row("e2b", "list", "cold", 0.25, requests=1, bytes_up=1000, bytes_down=49000),
    row("sshfs", "list", "cold", 17.0, requests=838, bytes_up=500000, bytes_down=500000),
    row("e2b", "read", "cold", 8.1, requests=3, bytes_up=1000, bytes_down=100000000),
    row("sshfs", "read", "cold", None, wrong="too slow", given_up_after=300),
]
END
python3 -c 'import rows, table; print(table.markdown(rows.ROWS))' >table.md
is "the table for README names what is compared" "$(grep sandboxfs table.md)" \
	"|  | sandboxfs, s | sshfs, s | sandboxfs, requests | sshfs, requests | sandboxfs, MB | sshfs, MB |"
is "a work is a line of it" "$(grep ls table.md)" "| \`ls -lR\` of 2,000 files | 0.25 | 17 | 1 | 838 | 0.05 | 1.00 |"
is "what was given up is no time" "$(grep read table.md)" "| read 100 MB in sequence | 8.1 | >300 | 3 | - | 100.00 | - |"
ok "every workload has its words there" python3 -c '
import inspect, re, table, workloads
said = set(re.findall(r"(?:time|Figure)\(\"(\w+)\", \"(\w+)\"", inspect.getsource(workloads)))
assert len(said) > 10 and said == set(table.TITLES), said ^ set(table.TITLES)'
ok "the picture is a well-formed drawing with a bar for each figure" python3 -c '
import plot, rows, xml.dom.minidom
drawing = xml.dom.minidom.parseString(plot.svg(rows.ROWS))
assert len(drawing.getElementsByTagName("rect")) == 1 + 2 + 4
assert ">300" in drawing.documentElement.toxml().replace("&gt;", ">")'
python3 -c '
import json, rows
rows.ROWS[0]["seconds"] = 0.5
print("\n".join(map(json.dumps, rows.ROWS)))' >first.jsonl
python3 -c 'import json, rows; print(json.dumps(rows.ROWS[0]))' >second.jsonl
printf 'before\n<!-- measured by make bench -->\nold\n<!-- end of what was measured -->\nafter\n' >readme
ok "the tables of two runs are put into README" python3 "$TOP/tests/bench/readme.py" readme first.jsonl second.jsonl
is "as one, with the figures of the later" "$(sed -n '/measured by/,/end of/p' readme | sed '1d;$d')" "$(cat table.md)"
is "in its place" "$(sed -n '1p;2p;$p' readme | tr '\n' '+')$(grep -c old readme)" \
	"before+<!-- measured by make bench -->+after+0"
sed 's/"e2b"/"ssh"/' first.jsonl >ssh.jsonl
printf '<!-- measured by make bench: ssh -->\n<!-- end of what was measured -->\n' | cat - readme >both
python3 "$TOP/tests/bench/readme.py" both ssh.jsonl
is "those over ssh have a place of their own" "$(sed '/end of/q' both | grep -c 'sandboxfs over ssh') $(grep -c 'sandboxfs over ssh' both)" "1 1"
fails "and in no other" python3 "$TOP/tests/bench/readme.py" table.md first.jsonl
is "what took too long once is not tried again" "$(python3 -c '
import bench
from workloads import Figure
given_up = [Figure("status", "first", given_up_after=given_up) for given_up in (None, 300, None)]
print(len(list(bench.until_given_up(given_up))))')" 2

# ---- The table of make bench LINKS=1 ---------------------------------------------------------------

cat >through.py <<'END'
import links
from links import Need


def row(way, work, seconds, landed=None, wrong=None, given_up_after=None):
    return {"name": "uneven", "way": way, "work": work, "floor": 0.5, "seconds": seconds, "landed": landed,
            "wrong": wrong, "given_up_after": given_up_after, "requests": 2, "cpu": 0.125}


ROWS = [row("tls", "read", 0.75), row("tls", "write", 0.1, landed=1.0),
        row("sshfs", "read", None, wrong="late", given_up_after=60)]
END
python3 -c 'import through; print(through.links.text(through.ROWS, ["tls", "sshfs"]))' >through.txt
is "a link says what it is" "$(head -n 1 through.txt)" "uneven: 30 ms, 1 up and 16 Mbit/s down"
is "a work has its floor, and how many times that it took" "$(sed -n 's/^read *//p' through.txt | tr -s ' ')" \
	"0.5 0.75 1.5 2 0.12 >60 - - -"
is "what is written has taken until it is there" "$(sed -n 's/^write *//p' through.txt | tr -s ' ')" \
	"0.5 1 2.0 2 0.12 - - - -"
ok "the floor is round trips and bytes, each way at its rate" python3 -c '
from through import links, Need
assert Need(2, up=125000, down=2000000).seconds(links.LINKS["uneven"]) == 0.06 + 1 + 1'
ok "and what stalls takes is left out of no floor" python3 -c '
from through import links, Need
link = links.LINKS["stalls"]
assert abs(Need(10).seconds(link) - 3 / 0.9) < 1e-9'

# ---- The verdicts of make budgets ------------------------------------------------------------------

cat >verdict.py <<'END'
import sys
import allowed, budgets
from workloads import Figure

allowed.EXCESS = {("git status", "cold"): (2,)}
allowed.VENDORS = ("e2b",)
requests, phase, size = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
figure = Figure("git status", phase, wrong=" ".join(sys.argv[4:]) or None)
figure.counters = {"requests": requests, "bytes": size, "kinds": {"exec": requests}}
sys.exit(budgets.tell("e2b", [figure]))
END
ok "what is allowed is kept" python3 verdict.py 0 again 0
fails "a request more is not" python3 verdict.py 1 again 0
fails "nor are too many bytes" python3 verdict.py 0 again 2000000
fails "nor is a wrong result" python3 verdict.py 0 again 0 it says nothing
ok "what is known not to be reached is no failure" python3 verdict.py 4 cold 0
fails "a request more is" python3 verdict.py 5 cold 0
ok "one less is none" python3 verdict.py 3 cold 0
cat >pauses.py <<'END'
import sys
import allowed
from workloads import Figure

figure = Figure("rm -rf of them", "until they are gone", landed=float(sys.argv[1]))
print(allowed.of("e2b", figure).requests)
END
is "a quick machine has what the design allows" "$(python3 pauses.py 0.4)" 2
is "one that pauses has a batch more for each pause" "$(python3 pauses.py 0.75)" 8
done_testing
