// A named shell: its directory and exported variables go from one command to the next, one command at a time.

const quote = (text) => `'${text.replace(/'/g, "'\\''")}'`;

export class Shell {
	// state: the file that keeps them.
	constructor(name, state) {
		this.name = name;
		this.state = quote(state);
		this.last = Promise.resolve();
	}

	wrap(command) {
		const save = `{ printf "cd %q\\n" "$PWD"; export -p; } >${this.state}`;
		return `trap ${quote(save)} EXIT\n[ ! -e ${this.state} ] || . ${this.state}\n${command}`;
	}

	// run(): resolves when the command is over.
	enqueue(run) {
		this.last = this.last.then(run);
		return this.last;
	}
}
