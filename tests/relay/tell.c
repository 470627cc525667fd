#include "providers/base/cleanup.h"
#include "tests/relay/control.h"

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ANSWER_WITHIN_S 60

static bool say(FILE *relay, char *const *words)
{
	for (; *words; words++)
		fprintf(relay, "%s%s", *words, words[1] ? " " : "\n");
	return !fflush(relay);
}

int control_tell(const char *path, char *const *words)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval deadline = { .tv_sec = ANSWER_WITHIN_S };
	struct sockaddr_un address;
	char answer[512] = "";
	FILE *relay;

	if (!control_address(&address, path) ||
		connect(fd, (struct sockaddr *)&address, sizeof address) ||
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline) ||
		!(relay = fdopen(fd, "r+")))
		err(2, "%s", path);
	take_fd(&fd);
	if (!say(relay, words) || !fgets(answer, sizeof answer, relay))
		err(2, "%s: no answer", path);
	fclose(relay);
	fputs(answer, stdout);
	return strstr(answer, "\"error\"") ? 1 : 0;
}
