#include "tests/http/secure_room.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct secure secure;

/* An authority of its own, and a certificate for 127.0.0.1. */
static bool make_certificates(const char *folder)
{
	char command[2000];

	snprintf(command, sizeof command,
		"exec 2>/dev/null; new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1'; "
		"cd '%s' && command -v node >/dev/null && "
		"openssl req -x509 $new -nodes -keyout ca.key -out ca.pem -days 2 "
		"-subj /CN=authority -addext basicConstraints=critical,CA:TRUE && "
		"openssl req $new -nodes -keyout key.pem -out request.pem -subj "
		"/CN=server && "
		"printf 'subjectAltName=IP:127.0.0.1' >names && "
		"openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial "
		"-days 2 -extfile names -out cert.pem",
		folder);
	return system(command) == 0;
}

static void run_server(const char *server, const char *does, int in, int out)
{
	char key[300], cert[300];

	snprintf(key, sizeof key, "%s/key.pem", secure.scratch.path);
	snprintf(cert, sizeof cert, "%s/cert.pem", secure.scratch.path);
	dup2(in, 0);
	dup2(out, 1);
	execlp("node", "node", server, key, cert, does, NULL);
	_exit(127);
}

static void start_server(const char *server, const char *does)
{
	int in[2], out[2];
	char line[20] = "";

	cr_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	secure.pid = fork();
	if (secure.pid == 0)
		run_server(server, does, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	secure.input = in[1];
	cr_assert(read(out[0], line, sizeof line - 1) > 0);
	close(out[0]);
	secure.port = atoi(line);
}

void secure_open(const char *server, const char *does, bool trusts)
{
	char authority[300];

	scratch_make(&secure.scratch);
	if (!make_certificates(secure.scratch.path)) {
		scratch_remove(&secure.scratch);
		cr_skip("no node or no openssl here");
	}
	start_server(server, does);
	snprintf(authority, sizeof authority, "%s/ca.pem", secure.scratch.path);
	unsetenv("CURL_CA_BUNDLE");
	unsetenv("SSL_CERT_FILE");
	unsetenv("SSL_CERT_DIR");
	if (trusts)
		setenv("SSL_CERT_FILE", authority, 1);
	cr_assert(eq(int, http_new(&secure.http, "test/1", NULL), ERR_OK));
}

void secure_close(void)
{
	http_free(secure.http);
	close(secure.input);
	waitpid(secure.pid, NULL, 0);
	scratch_remove(&secure.scratch);
}

struct http_request secure_request(const char *path)
{
	snprintf(secure.url, sizeof secure.url, "https://127.0.0.1:%d%s", secure.port, path);
	return (struct http_request){ .method = HTTP_POST, .url = secure.url };
}

void secure_expect(const char *path, const char *want)
{
	AUTO_HTTP_ANSWER struct http_answer answer = HTTP_ANSWER_NONE;
	struct http_request request = secure_request(path);
	struct error e = { 0 };

	cr_assert(eq(int, http_perform(secure.http, NULL, &request, &answer, &e), ERR_OK), "%s",
		e.text);
	cr_expect(eq(str, (char *)buf_text(&answer.body), (char *)want));
}

struct http_exchange *secure_begin(const char *path)
{
	struct http_request request = secure_request(path);
	struct http_exchange *x = NULL;

	cr_assert(eq(int, http_begin(secure.http, &request, &x, NULL), ERR_OK));
	return x;
}

void secure_expect_end(struct http_exchange *x, size_t want)
{
	struct error e = { 0 };
	const void *bytes;
	size_t len, got = 0;

	do {
		cr_assert(eq(int, http_read(x, NULL, &bytes, &len, &e), ERR_OK), "%s", e.text);
		got += len;
	} while (len);
	cr_expect(eq(sz, got, want));
	http_end(x);
}
