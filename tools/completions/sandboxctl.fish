# Completion for fish of sandboxctl, sandboxfs and their kin: sandboxctl itself knows what there is.

function __sandboxctl_complete
	set -l typed (commandline -ct)
	for line in (command sandboxctl --complete (commandline -opc) "$typed" 2>/dev/null)
		switch $line
			case :files
				set -l name (string match -r '^.*=' -- "$typed")
				string replace -r '^' -- "$name" (__fish_complete_path (string replace -- "$name" '' "$typed"))
			case :directories
				__fish_complete_directories "$typed"
			case '*'
				echo -- $line
		end
	end
end

for program in sandboxctl sandboxfs mount.fuse.sandboxfs umount.fuse.sandboxfs
	complete -c $program -f -a '(__sandboxctl_complete)'
end
