#include "providers/http/goaway.h"

#include "providers/base/log.h"
#include "providers/http/client.h"
#include "providers/http/request.h"
#include "providers/http/url.h"

#include <stdio.h>
#include <string.h>

/* The text that is searched stands at the beginning of a line. */
#define LINE_SIZE 100

/* The two ends of a connection, which identify it. */
struct ends {
	const char *local, *peer;
	long local_port, peer_port;
};

static struct ends ends_of(const struct transfer *t)
{
	struct ends ends = { "", "", 0, 0 };
	char *local = NULL, *peer = NULL;

	curl_easy_getinfo(t->easy, CURLINFO_LOCAL_IP, &local);
	curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_IP, &peer);
	curl_easy_getinfo(t->easy, CURLINFO_LOCAL_PORT, &ends.local_port);
	curl_easy_getinfo(t->easy, CURLINFO_PRIMARY_PORT, &ends.peer_port);
	ends.local = local ? local : "";
	ends.peer = peer ? peer : "";
	return ends;
}

static bool same_connection(const struct ends *one, const struct ends *other)
{
	return one->local_port == other->local_port && one->peer_port == other->peer_port &&
		!strcmp(one->local, other->local) && !strcmp(one->peer, other->peer);
}

/* `t` is one of the transfers on the connection. */
static void note_goaway(const struct transfer *t, unsigned last)
{
	struct ends ends = ends_of(t);
	struct transfer *other;

	if (!ends.local_port)
		return;
	LIST_FOREACH(other, &t->client->silence.running, running)
	{
		struct ends its = ends_of(other);

		if (other->stream <= last || !same_connection(&ends, &its))
			continue;
		other->is_unprocessed = true;
		log_debug(LOG_HTTP,
			"%s %s: the server closes the connection, and does not process it",
			request_method(other->method), other->shown);
	}
}

static bool is_stream(const char *line, unsigned *stream)
{
	int end = 0;

	/* The texts of libcurl 7.88 and of 8.14. */
	if (sscanf(line, "Using Stream ID: %u%n", stream, &end) == 1 && end)
		return true;
	end = 0;
	return sscanf(line, "[HTTP/2] [%u] OPENED stream%n", stream, &end) == 1 && end;
}

static bool is_goaway(const char *line, unsigned *last)
{
	/* The first spelling is that of 7.88. */
	return sscanf(line, "recveived GOAWAY, error=%*u, last_stream=%u", last) == 1 ||
		sscanf(line, "received GOAWAY, error=%*u, last_stream=%u", last) == 1;
}

/* libcurl goes to another connection by itself, where the stream number means nothing. */
static bool is_retry(const char *line)
{
	return !strncmp(line, "Connection died, retrying", strlen("Connection died, retrying"));
}

static int on_log(CURL *easy, curl_infotype type, char *text, size_t len, void *context)
{
	struct transfer *t = context;
	char line[LINE_SIZE];
	unsigned number;

	(void)easy;
	if (type != CURLINFO_TEXT)
		return 0;
	snprintf(line, sizeof line, "%.*s", (int)len, text);
	if (is_stream(line, &number))
		t->stream = number;
	else if (is_goaway(line, &number))
		note_goaway(t, number);
	else if (is_retry(line))
		t->stream = 0;
	return 0;
}

void goaway_watch(struct transfer *t)
{
	t->stream = 0;
	t->is_unprocessed = false;
	if (url_is_plain(t->url))
		return;
	curl_easy_setopt(t->easy, CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(t->easy, CURLOPT_DEBUGFUNCTION, on_log);
	curl_easy_setopt(t->easy, CURLOPT_DEBUGDATA, t);
}
