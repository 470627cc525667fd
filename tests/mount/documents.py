#!/usr/bin/python3
"""documents.py CHECK PROGRAMS: what documents say and the programs in that folder, or the sources, do
not. It prints nothing where all is so."""
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
MARKDOWN = ["README.md", "CONTRIBUTING.md", "cache/DESIGN.md", "providers/README.md", "tests/README.md",
            "tests/bench/README.md"]
PAGES = sorted(str(path.relative_to(TOP)) for path in TOP.glob("tools/man/*.in"))


def text_of(document):
    return (TOP / document).read_text()


def code_of(document):
    """What is typed: between `...`, indented, and in displays of a page."""
    text = text_of(document)
    if document.endswith(".in"):
        text = re.sub(r"^\.(Ql|D1|Dl) (.*)$", r"`\2`", text, flags=re.M)
        displays = re.findall(r"^\.Bd.*?\n(.*?)^\.Ed", text, re.M | re.S)
    else:
        displays = re.findall(r"(?:^    .*\n)+", text, re.M)
    yield from (line.strip() for display in displays for line in display.splitlines())
    for code in re.findall(r"`([^`]+)`", text):
        yield " ".join(code.split())


def help_of(*command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def all_code():
    for document in MARKDOWN + PAGES:
        for code in code_of(document):
            yield document, code


# ---- Options and commands ------------------------------------------------------------------------


def mount_options(programs):
    helps = help_of(f"{programs}/sandboxfs") + help_of(f"{programs}/umount.fuse.sandboxfs")
    known = set(re.findall(r"-o ([a-z_]+)", helps))
    known |= set(re.sub(r".*without effect:|Environment:.*", "", helps, flags=re.S).replace("=", " ").split())
    for document, code in all_code():
        # Of other programs' commands only -o is ours where ours are named.
        if re.match(r"sandboxctl journal|mount --bind|curl|git|mount -t overlay", code):
            continue
        for options in re.findall(r"(?<!\S)-o ([a-z][^\s]*)", code):
            for option in re.findall(r"(?:^|,)([a-z_]+)(?==|,|$|[.;:)])", options):
                if option not in known:
                    yield f"{document}: -o {option}"


def spelled(text):
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text))


def commands(programs):
    helped = help_of(f"{programs}/sandboxctl")
    names = re.findall(r"^  ([a-z]+) ", helped, re.M)
    options = {name: spelled(help_of(f"{programs}/sandboxctl", name)) for name in names}
    everywhere = set().union(*options.values(), spelled(helped), {"--help", "--version", "--bind", "--inplace", "--read-only"})
    for document, code in all_code():
        named = re.search(r"\bsandboxctl ([a-z]+)\b(.*)", code)
        if named and named[1] not in names:
            yield f"{document}: sandboxctl {named[1]}"
        elif named:
            own = re.split(r" -- ", named[2])[0]
            yield from (f"{document}: sandboxctl {named[1]} {o}" for o in spelled(own) - options[named[1]] - {"--help"})
        elif not re.match(r"make |tests/|git |rsync |setarch|curl|BENCH", code):
            yield from (f"{document}: {o}" for o in sorted(spelled(code) - everywhere))


def targets(programs):
    makefiles = "".join(path.read_text() for path in [TOP / "Makefile", *TOP.glob("*/*.mk")])
    known = set(re.findall(r"^([a-z][a-z-]*)[a-z -]*:(?!=)", makefiles, re.M))
    known |= set(" ".join(re.findall(r"^\.PHONY: (.*)$", makefiles, re.M)).split())
    told = set(re.findall(r"^#: make ([a-z][a-z-]*)", makefiles, re.M)) | {"setup-tests", "help", "pages"}
    for document, code in all_code():
        for target in re.findall(r"^make ([a-z][a-z-]*)", code):
            if target not in known:
                yield f"{document}: make {target}"
            elif document in ("README.md", "CONTRIBUTING.md", "tests/README.md") and target not in told:
                yield f"{document}: make {target}, which `make help` does not have"


# ---- Files and suites ----------------------------------------------------------------------------


def files(programs):
    for document in MARKDOWN + PAGES:
        text = text_of(document)
        folder = (TOP / document).parent
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            if not (folder / link).exists():
                yield f"{document}: {link}"
        for name in re.findall(r"(?<![\w/.])((?:tests|tools|cache|fs|providers)/[\w/.-]+\.[a-z]+)\b", text):
            if "VENDOR" not in name and not (TOP / name).exists():
                yield f"{document}: {name}"
    here = {path.name for folder in ("cache", "fs", "providers") for path in TOP.glob(f"{folder}/**/*.[ch]")}
    for document in ("cache/DESIGN.md", "providers/README.md"):
        for name in re.findall(r"`(?:[a-z]+/)?(\w+\*?\w*\.[ch])`", text_of(document)):
            pattern = re.compile(name.replace(".", r"\.").replace("*", r"\w*") + "$")
            if not any(pattern.match(known) for known in here) and name not in NEW_NAMES:
                yield f"{document}: {name}"


# What providers/README.md asks a new vendor's folder to have.
NEW_NAMES = {"VENDOR.c", "VENDOR.h", "run.c", "files.c", "verdict.c"}


def suites(programs):
    tests = "".join(path.read_text() for path in TOP.glob("tests/**/*.c"))
    for names, layer in re.findall(r"((?:`\w+`(?:, | and )?)+) of `(\w+)`", text_of("tests/README.md")):
        for name in re.findall(r"`(\w+)`", names):
            if not re.search(rf"\b(Test|ParameterizedTest|TestSuite)\([^)]*\b{name}\b", tests):
                yield f"{name} of {layer}"


def layers(programs):
    """What the build forbids is what the picture of cache/DESIGN.md shows: no include upwards."""
    shown = re.findall(r"^    ([a-z]+)  ", text_of("cache/DESIGN.md"), re.M)
    looked = re.findall(r"\"\(([a-z|]+)\)/' -r ([a-z]+)$", text_of("tests/check.mk"), re.M)
    forbidden = {folder: set(names.split("|")) for names, folder in looked}
    for place, layer in enumerate(shown[:shown.index("providers") + 1]):
        above = {*shown[:place], "tests"} if place else set()
        if above - forbidden.get(layer, set()):
            yield f"{layer} may include {above - forbidden.get(layer, set())}"


def locks(programs):
    """Each lock and each thread of the cache and of fs has a row in the tables of cache/DESIGN.md."""
    _, _, rest = text_of("cache/DESIGN.md").partition("\n## Locks\n")
    of_locks, _, of_threads = rest.partition("\n## Threads\n")
    for path in sorted([*TOP.glob("cache/**/*.[ch]"), *TOP.glob("fs/**/*.[ch]")]):
        source = path.read_text()
        if re.search(r"^\tpthread_(mutex|rwlock)_t [a-z]", source, re.M) and f"{path.name}`" not in of_locks:
            yield f"the lock of {path.name}"
        if re.search(r"\bthread_start\(", source) and f"{path.name}`" not in of_threads:
            yield f"the thread of {path.name}"


# ---- Figures -------------------------------------------------------------------------------------

# Words of a document, and the constant that they repeat.
FIGURES = [
    ("tools/man/sandboxfs.7.in", "up to 64 small files", "NEAR_FILES", "64"),
    ("tools/man/sandboxfs.7.in", "512 KiB of them", "NEAR_BYTES", "((uint64_t)512 * 1024)"),
    ("tools/man/sandboxfs.7.in", "up to 25,000 files or 16 MiB", "FAR_FILES", "25000"),
    ("tools/man/sandboxfs.7.in", "up to 25,000 files or 16 MiB", "FAR_BYTES", "((uint64_t)16 * 1024 * 1024)"),
    ("cache/DESIGN.md", "up to 25,000 files and 16 MiB", "FAR_FILES", "25000"),
    ("tools/man/sandboxfs.7.in", "up to 50,000 as a walk goes on", "MOST_ENTRIES", "50000"),
    ("tools/man/sandboxfs.7.in", "the whole file (at most 256 MiB)", "FILE_MAX", "((uint64_t)256 * 1024 * 1024)"),
    ("tools/man/sandboxfs.7.in", "After 8 of them", "READS_MIN", "8"),
    ("tools/man/sandboxfs.7.in", "made within 100 ms", "WRITEBACK_WAIT_MS", "100"),
    ("tools/man/sandboxfs.7.in", "in blocks of 128 KiB", "BLOCK_SIZE", "((size_t)128 * 1024)"),
    ("tools/man/sandboxfs.7.in", "Of more than 16 MiB of a stream", "EXEC_CAPTURE_MAX", "((size_t)16 * 1024 * 1024)"),
    ("tools/man/sandboxfs.7.in", "would have more than 64 MiB", "EXEC_RESPONSE_MAX", "((size_t)64 * 1024 * 1024)"),
    ("tools/man/sandboxfs.7.in", "pauses that grow to 30 s", "WRITEBACK_PAUSE_MOST_MS", "30000"),
    ("tools/man/sandboxfs.7.in", "in five seconds", "WRITEBACK_OPEN_MS", "5000"),
    ("tools/man/sandboxfs.7.in", "32 MiB for the list of what is pending", "WRITEBACK_COST_MAX", "((size_t)32 * 1024 * 1024)"),
    ("tools/man/sandboxfs-providers.7.in", "Ends 300 s after", "DEFAULT_S", "300"),
    ("tools/man/sandboxfs.7.in", "for 4,000 entries at first", "LISTING_LARGE", "4000"),
    ("tools/man/sandboxfs.7.in", "another one for each 7 MiB", "WRITEBACK_BATCH_MAX", "((size_t)15 * 512 * 1024)"),
    ("tools/man/sandboxfs.7.in", "After 1800 s", "EXEC_TIMEOUT_MS_DEFAULT", "(1800 * 1000)"),
    ("tools/man/sandboxfs.7.in", "kernel (64 at a time)", "THREADS_DEFAULT", "64"),
    ("tools/man/sandboxfs-providers.7.in", "in the last 15 minutes", "LIFETIME_USED_MS", "(15 * 60 * 1000)"),
    ("tools/man/sandboxfs-providers.7.in", "`/home/user` of `local:`", "JAIL_HOME", '"/home/user"'),
    ("tools/man/sandboxfs.1.in", "has 180 s", "CALL_READY_MS", "180000"),
    ("tools/man/sandboxctl.1.in", "in at most 60 MB of memory", "INPUT_MAX", "((size_t)60 * 1024 * 1024)"),
    ("tools/man/sandboxctl.1.in", "of more than 120 KiB", "INPUT_PIPE_COMMAND_MAX", "((size_t)120 * 1024)"),
    ("cache/DESIGN.md", "220,000 entries are kept", "CACHE_IDLE_MAX", "220000"),
    ("cache/DESIGN.md", "senders, at most four", "WRITEBACK_SENDERS_MAX", "4"),
]


def figures(programs):
    sources = "".join(path.read_text() for folder in ("cache", "fs", "providers", "tools")
                      for path in TOP.glob(f"{folder}/**/*.[ch]"))
    for document, words, name, value in FIGURES:
        if words not in " ".join(text_of(document).split()):
            yield f"{document}: nothing says '{words}'"
        if not re.search(rf"#define {name}\s+{re.escape(value)}(\s|$)", sources, re.M):
            yield f"{name} is not {value}: {document} says '{words}'"


def fields(programs):
    """Those of a response and of a job's status, by the sources that write them."""
    page = text_of("tools/man/sandboxfs.7.in")
    for source in ("exec_response.c", "job_text.c", "status_text.c"):
        path = next(TOP.glob(f"fs/**/{source}"))
        for name in re.findall(r'put_\w+\(\s*&?\w+,\s*"(\w+)"', path.read_text()):
            if not re.search(rf"[\"`]{name}\b", page):
                yield f"{source}: {name}"


# ---- When something fails, and what costs money ---------------------------------------------------


def facts(kind):
    lines = (line.split("\t") for line in (TOP / "build/man/facts").read_text().splitlines())
    return [fields[1:] for fields in lines if fields[0] == kind]


def failures(programs):
    """What doctor and status are said to show is text of the sources; ... stands for more."""
    sources = "".join(path.read_text() for folder in ("fs", "tools/ctl") for path in TOP.glob(f"{folder}/**/*.c"))
    sources = re.sub(r'"\s*\n\s*"', "", sources)
    named = {"doctor", "status", ".sandbox/status"}
    for words, shown, _ in facts("failure"):
        for text in re.findall(r"`([^`]+)`", shown):
            if text not in named and not all(part.strip(": ") in sources for part in text.split("...")):
                yield f"{words}: nothing prints '{text}'"


def bounds(programs):
    """The options that bound what each vendor's sandboxes cost are those that it takes."""
    page = text_of("tools/man/sandboxfs-providers.7.in").partition(".Sh HOW LONG")[2].partition("\n.El")[0]
    items = dict(re.findall(r"^\.It (\w+):\n(.*?)(?=^\.It |\Z)", page, re.M | re.S))
    for provider, _, _, _, options, *_ in facts("provider"):
        taken = set(re.findall(r"\b(lifetime|idle|archive_after|delete_after)=", options))
        told = set(re.findall(r"`-o (\w+)=", items[provider].partition("Bounds:")[2]))
        if taken != told:
            yield f"{provider}: takes {sorted(taken)}, is said to be bounded by {sorted(told)}"
        if taken and "Costs: " not in items[provider]:
            yield f"{provider}: nothing says what it costs"


def verbs(programs):
    """The table of commands, as it is rendered, says of each provider what its own item says."""
    page = (TOP / "build/man/sandboxfs-providers.7").read_text()
    rows = re.findall(r"^\.It (?:Cm (\w+)|\\&)((?: Ta \S+)+)$", page, re.M)
    heads = rows[0][1].split()[1::2] if rows else []
    told = {name: dict(zip(heads, cells.split()[1::2])) for name, cells in rows[1:]}
    for provider, *_, slots, _, _ in facts("provider"):
        for command, can in (slot.split("=") for slot in slots.split(",")):
            if command != "resume" and (told.get(provider, {}).get(command) == "yes") != (can == "yes"):
                yield f"{provider}: {command}"
            if f"  {command} " not in help_of(f"{programs}/sandboxctl"):
                yield f"sandboxctl has no {command}"


def examples(programs):
    """Each provider whose sandboxes are made, or started, has a script that one can run."""
    for provider, *_, slots, _, _ in facts("provider"):
        path = TOP / f"tools/examples/{provider}.sh"
        if "create=yes" in slots and not path.stat().st_mode & 0o111:
            yield str(path)


# ---- How it is written ---------------------------------------------------------------------------


def sentences(programs):
    """Of README.md, without code and tables."""
    text = "\n".join(line for line in text_of("README.md").splitlines() if not line.startswith(("    ", "|", "#", "<!--")))
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
            if len(sentence.split()) > 40:
                yield sentence


def columns(programs):
    for page in PAGES:
        for number, line in enumerate(text_of(page).splitlines(), 1):
            if len(line) > 100:
                yield f"{page}:{number}: {len(line)}"


# Each has a word in the glossary of cache/DESIGN.md, which alone names both. `parked` is a field of
# a status.
OLD_WORDS = r"\b(believed?|owed|owes|heard|parked|foreseen?|mouthful|backlog|in doubt|is judged|lent|unheard)\b"


def words(programs):
    for document in MARKDOWN + PAGES:
        if document == "cache/DESIGN.md":
            continue
        text = re.sub(r"^\.Bd.*?^\.Ed", "", text_of(document), flags=re.M | re.S)
        text = re.sub(r"`[^`]*`|^    .*$", "", text, flags=re.M)
        for word in re.findall(OLD_WORDS, text):
            yield f"{document}: {word}"


CHECKS = (mount_options, commands, targets, files, suites, layers, locks, figures, fields, failures, bounds,
          verbs, examples, sentences, columns, words)

if __name__ == "__main__":
    check = {function.__name__: function for function in CHECKS}[sys.argv[1]]
    print("\n".join(dict.fromkeys(check(sys.argv[2]))))
