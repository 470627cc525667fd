# page.awk - fills in a man page: awk -v version=0.1.0 -f page.awk FACTS PAGE.in
#
# FACTS is what tools/describe prints. A line of the page that is one of these stands for what the programs know:
#
#	@options PROGRAM@     options, as items of a list
#	@ignored PROGRAM@     names of those without effect, as text
#	@commands PROGRAM@    its commands with their options, a section each
#	@providers@           providers, as items of a list
#	@new@                 which providers take which option of a new sandbox, as items of a list
#	@variables@           what providers read of the environment, as items of a list
#	@differences@         what each provider takes and can do, as items of a list
#	@verbs@               which provider has which command of sandboxctl, as a table
#	@failures@            kinds of errors, what is shown of each and the way out, as items of a list
#
# What stands between @about COMMAND@ and @end@, before all of these, comes behind the help of that
# command.
# @version@ within a line is the version. In a line of text, and behind .It, `text` is what is typed
# or printed.

BEGIN { FS = "\t" }

NR == FNR {
	facts[++facts_count] = $0
	next
}

/^@about .*@$/ {
	subject = substr($0, 8, length($0) - 8)
	next
}

/^@end@$/ {
	subject = ""
	next
}

/^@.*@$/ {
	split(substr($0, 2, length($0) - 2), words, " ")
	fill_in(words[1], words[2])
	next
}

/^\.Bd/ { in_display = 1 }
/^\.Ed/ { in_display = 0 }

{
	gsub(/@version@/, version)
	line = !in_display && /^([^.]|\.It )/ ? with_code($0) : $0
	if (subject == "")
		print line
	else
		about[subject] = about[subject] line "\n"
}

END {
	for (subject in about) {
		print "page.awk: no such command: " subject >"/dev/stderr"
		exit 1
	}
}

function fill_in(what, program,    i, fields) {
	if (what == "new")
		print_new()
	for (i = 1; i <= facts_count; i++) {
		split(facts[i], fields, "\t")
		if (what == "providers" && fields[1] == "provider")
			print_item("Cm " fields[2] ":", fields[3])
		else if (what == "variables" && fields[1] == "variable")
			print_variable(fields[2], fields[3], fields[4], fields[5])
		else if (what == "differences" && fields[1] == "provider")
			print_differences(fields)
		else if (what == "verbs" && fields[1] == "provider")
			print_verbs(fields)
		else if (what == "failures" && fields[1] == "failure")
			print_failure(fields)
		else if (what == "commands" && fields[1] == "command" && fields[2] == program)
			print_command(fields)
		else if (what == "ignored" && fields[1] == "ignored" && fields[2] == program)
			print ".Cm " bare(fields[4])
		else if (what == "options" && fields[2] == program && fields[3] == "")
			print_option(fields)
	}
}

# A refusal in the words that the page has for all is not repeated.
function print_new(    i, fields, n, words, option, taken, refused) {
	for (i = 1; i <= facts_count; i++) {
		split(facts[i], fields, "\t")
		if (fields[1] != "new")
			continue
		option = fields[3]
		if (!(option in taken)) {
			words[++n] = option
			taken[option] = refused[option] = ""
		}
		if (fields[4] == "")
			taken[option] = taken[option] (taken[option] == "" ? "" : ", ") fields[2]
		else if (fields[4] !~ /a new sandbox cannot be given/)
			refused[option] = refused[option] "\n.br\n" prose(fields[4])
	}
	for (i = 1; i <= n; i++)
		print ".It Fl -" words[i] "\n" taken[words[i]] refused[words[i]]
}

function print_item(head, help) {
	print ".It " head
	print prose(help)
}

function print_variable(provider, name, help, otherwise) {
	print_item("Ev " name, (provider == "" ? "" : provider ": ") help (otherwise == "" ? "" : " (" otherwise ")"))
}

# Of a provider: how a sandbox is found, with which key, what it takes, and the result of each call.
function print_differences(fields,    i, slots, slot, n, can, cannot) {
	print ".It Cm " fields[2] ": Pq " fields[3]
	print "A sandbox is found by its " fields[4] "."
	print "Key: " (fields[5] == "" ? "none" : names_of(fields[5])) "."
	print "A new sandbox takes: " (fields[6] == "" ? "nothing" : names_of(fields[6])) "."
	print "Any sandbox takes: " names_of(fields[7]) "."
	n = split(fields[8], slots, ",")
	for (i = 1; i <= n; i++) {
		split(slots[i], slot, "=")
		if (slot[2] == "yes")
			can = can (can == "" ? "" : ", ") slot[1]
		else
			cannot = cannot "\n" toupper(substr(slot[1], 1, 1)) substr(slot[1], 2) ": " slot[2] "."
	}
	print "It can: " can "." cannot
	print "The stream of changes: " fields[9] "."
	print with_code("With `exec_shell=auto` commands run by `" fields[10] "`.")
}

# A row of the table, and before the first row the heads. Who can pause can resume.
function print_verbs(fields,    i, n, slots, slot, heads, cells, widths) {
	n = split(fields[8], slots, ",")
	for (i = 1; i <= n; i++) {
		split(slots[i], slot, "=")
		if (slot[1] == "resume")
			continue
		heads = heads " Ta " slot[1]
		widths = widths " \"" slot[1] "\""
		cells = cells " Ta " (slot[2] == "yes" ? "yes" : "\\-")
	}
	if (!has_heads++)
		print ".Bl -column \"kubernetes\"" widths "\n.It \\&" heads
	print ".It Cm " fields[2] cells
}

function print_failure(fields) {
	print ".It " with_code(fields[2])
	print with_code(sentences(fields[3])) "\n.br\n" with_code(sentences(fields[4]))
}

function names_of(list) {
	gsub(/[^ ,]+/, "`&`", list)
	return with_code(list)
}

# `text` in bold, with roff's own characters as they are.
function with_code(line,    out, code) {
	while (match(line, /`[^`]+`/)) {
		code = substr(line, RSTART + 1, RLENGTH - 2)
		gsub(/\\/, "\\e", code)
		gsub(/-/, "\\-", code)
		gsub(/~/, "\\(ti", code)
		out = out substr(line, 1, RSTART - 1) "\\fB" code "\\fR"
		line = substr(line, RSTART + RLENGTH)
	}
	return out line
}

function print_option(fields) {
	if (fields[1] == "mount-option")
		print_item("Fl o Cm " mount_option(fields[4], fields[5]), fields[6])
	else if (fields[1] == "option")
		print_item(spellings(fields[4], fields[5]), fields[6])
}

function print_command(command,    i, fields, found) {
	print ".Ss " command[3]
	print ".D1 Nm sandboxctl Cm " command[3] " Oo Ar options Oc" arguments(command[4])
	print prose(command[5]) "."
	for (i = 1; i <= facts_count; i++) {
		split(facts[i], fields, "\t")
		if (fields[1] != "option" || fields[2] != command[2] || fields[3] != command[3])
			continue
		if (!found++)
			print ".Bl -tag -width Ds"
		print_option(fields)
	}
	if (found)
		print ".El"
	print_details(command[6])
	printf "%s", (command[3] in about) ? ".Pp\n" about[command[3]] : ""
	delete about[command[3]]
}

# Paragraphs; a line that begins with a blank is an example.
function print_details(text,    lines, n, i) {
	n = split(text, lines, /\\n/)
	if (n)
		print ".Pp"
	for (i = 1; i <= n; i++)
		if (lines[i] == "")
			print ".Pp"
		else if (lines[i] ~ /^[ \t]/)
			print ".Dl " prose(lines[i])
		else
			print prose(lines[i])
}

# ---- Words of mdoc ----

# A sentence a line, without what roff would take for something else: a backslash, an option's dash, a control character that
# begins a line.
function prose(text) {
	text = sentences(text)
	sub(/^[ \t]+/, "", text)
	gsub(/\\/, "\\e", text)
	gsub(/--/, "\\-\\-", text)
	gsub(/ -/, " \\-", text)
	gsub(/~/, "\\(ti", text)
	return (text ~ /^[.']/ ? "\\&" : "") text
}

function sentences(text) {
	while (match(text, /\. [A-Z`]/))
		text = substr(text, 1, RSTART) "\n" substr(text, RSTART + 2)
	return text
}

# "PROVIDER:ID -- COMMAND...": what is to be filled in, but for the dashes.
function arguments(text,    words, n, i, out) {
	n = split(text, words, " ")
	for (i = 1; i <= n; i++)
		out = out (words[i] == "--" ? " Fl Fl" : " Ar " prose(words[i]))
	return out
}

# "DIR|off": a name to fill in, or a word that stands there as it is.
function value(text,    out) {
	while (match(text, /[|=]/)) {
		out = out word(substr(text, 1, RSTART - 1)) " Ns \\&" substr(text, RSTART, 1) " Ns "
		text = substr(text, RSTART + 1)
	}
	return out word(text)
}

function word(text) {
	return (text ~ /[a-z]/ ? "Cm " : "Ar ") text
}

function bare(name) {
	sub(/=$/, "", name)
	return name
}

function mount_option(name, argument) {
	return bare(name) (argument == "" ? "" : " Ns = Ns " value(argument))
}

# "-k --key-file": each with its value, as in: -k FILE, --key-file=FILE
function spellings(text, argument,    names, n, i, out) {
	n = split(text, names, " ")
	for (i = 1; i <= n; i++) {
		out = out (i > 1 ? " , " : "") "Fl " substr(names[i], 2)
		if (argument != "")
			out = out (names[i] ~ /^--/ ? " Ns = Ns " : " ") value(argument)
	}
	return out
}
