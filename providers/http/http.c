#include "providers/http/http.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"
#include "providers/http/client.h"

#include <assert.h>
#include <string.h>

/*
 * HTTP/1.1 needs a connection for every running request, and requests may run for as long as a
 * command does. The limit only guards the supply of descriptors: it is far above the number of
 * requests under way, so that long ones never block short ones. Connections of their own do not
 * count.
 */
#define HOST_CONNECTIONS_MAX 64L

/* ---- The queue of asks ---- */

void client_ask(struct http *h, struct transfer *t, unsigned ask)
{
	pthread_mutex_lock(&h->lock);
	if (!t->asked) {
		t->next_asking = NULL;
		if (h->last)
			h->last->next_asking = t;
		else
			h->first = t;
		h->last = t;
	}
	t->asked |= ask;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
}

/* NULL: the queue is empty. */
static struct transfer *next_ask(
	struct http *h, unsigned *asked, const struct connections **connections)
{
	struct transfer *t;

	pthread_mutex_lock(&h->lock);
	t = h->first;
	if (t) {
		h->first = t->next_asking;
		if (!h->first)
			h->last = NULL;
		*asked = t->asked;
		t->asked = 0;
		t->drops = *asked & TRANSFER_START ? h->drops : t->drops;
		h->moves++;
	}
	*connections = h->connections;
	pthread_mutex_unlock(&h->lock);
	return t;
}

static void serve_asks(struct http *h)
{
	const struct connections *connections;
	struct transfer *t;
	unsigned asked;

	while ((t = next_ask(h, &asked, &connections))) {
		if (asked & TRANSFER_STOP) {
			transfer_stop(t, h->multi);
			continue;
		}
		if (asked & TRANSFER_START)
			transfer_start(t, h->multi, h,
				t->is_bulk ? connections->bulk : connections->prompt);
		if (asked & TRANSFER_RESUME)
			transfer_resume(t);
	}
}

/* ---- The thread ---- */

static void finish_transfers(struct http *h)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(h->multi, &left))) {
		CURLcode code = message->data.result;
		struct transfer *t = NULL;

		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		if (message->msg != CURLMSG_DONE)
			continue;
		if (t)
			transfer_finish(t, h->multi, code);
		else
			preconnect_finish(h, message->easy_handle, code);
	}
}

/* False: a transfer still runs on one of the connections. */
static bool close_share(CURLSH **share)
{
	if (*share && curl_share_cleanup(*share) == CURLSHE_OK)
		*share = NULL;
	return !*share;
}

static bool connections_close(struct connections *c)
{
	bool is_closed = close_share(&c->prompt);

	return close_share(&c->bulk) && is_closed;
}

/* Closes dropped connections once no transfer uses them. */
static void sweep_connections(struct http *h)
{
	struct connections **at;

	pthread_mutex_lock(&h->lock);
	at = &h->connections->older;
	while (*at) {
		struct connections *old = *at;

		if (!connections_close(old)) {
			at = &old->older;
			continue;
		}
		*at = old->older;
		free(old);
	}
	pthread_mutex_unlock(&h->lock);
}

static bool is_closing(struct http *h)
{
	bool closing;

	pthread_mutex_lock(&h->lock);
	closing = h->is_closing;
	pthread_mutex_unlock(&h->lock);
	return closing;
}

static void *run(void *context)
{
	struct http *h = context;
	int running;

	while (!is_closing(h)) {
		serve_asks(h);
		preconnect_serve(h);
		network_serve(h);
		curl_multi_perform(h->multi, &running);
		finish_transfers(h);
		silence_serve(h);
		sweep_connections(h);
		client_wait(h);
	}
	return NULL;
}

/* ---- The client ---- */

/* Only the I/O thread uses the shares, so no locks are given. */
static CURLSH *share_new(void)
{
	CURLSH *share = curl_share_init();

	curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
	curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	return share;
}

static struct connections *connections_new(void)
{
	struct connections *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->prompt = share_new();
	c->bulk = share_new();
	if (c->prompt && c->bulk)
		return c;
	connections_close(c);
	free(c);
	return NULL;
}

void http_drop_connections(struct http *h)
{
	struct connections *fresh = connections_new();

	if (!fresh) {
		log_warn(LOG_HTTP, "no memory: connections are kept");
		return;
	}
	pthread_mutex_lock(&h->lock);
	fresh->older = h->connections;
	h->connections = fresh;
	h->drops++;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
}

/* Two clocks that are read one after the other differ by less. */
#define SLEPT_MIN_MS 2000

static int64_t slept_ms(void)
{
	return boottime_ms() - monotonic_ms();
}

void client_note_sleep(struct http *h)
{
	int64_t now_ms = slept_ms();

	pthread_mutex_lock(&h->lock);
	bool has_slept = now_ms - h->slept_ms > SLEPT_MIN_MS;

	h->slept_ms = now_ms;
	pthread_mutex_unlock(&h->lock);
	if (has_slept)
		http_drop_connections(h);
}

/* libcurl's own state is per process. */
static void init_libcurl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* false: no memory. NULL stays NULL. */
static bool copy(char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return *out || !text;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/*
 * The absolute path of the file, found now: connections are made later, and from another directory.
 */
static bool copy_path(char **out, const char *path)
{
	*out = path ? realpath(path, NULL) : NULL;
	return *out || copy(out, path);
}

static bool build(struct http *h, const char *user_agent)
{
	const char *bundle = environment("CURL_CA_BUNDLE");

	h->multi = curl_multi_init();
	h->connections = connections_new();
	h->slept_ms = slept_ms();
	h->opened_fd = -1;
	h->network_fd = network_open();
	silence_init(&h->silence);
	LIST_INIT(&h->sockets);
	if (!h->multi || !h->connections || !copy(&h->user_agent, user_agent) ||
		!copy_path(&h->ca_file, bundle ? bundle : environment("SSL_CERT_FILE")) ||
		!copy_path(&h->ca_folder, environment("SSL_CERT_DIR")))
		return false;
	curl_multi_setopt(h->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(h->multi, CURLMOPT_MAX_HOST_CONNECTIONS, HOST_CONNECTIONS_MAX);
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, HOST_CONNECTIONS_MAX);
	return true;
}

static void release(struct http *h)
{
	preconnect_release(h);
	silence_release(h);
	cleanup_close(&h->network_fd);
	while (h->connections) {
		struct connections *c = h->connections;

		h->connections = c->older;
		connections_close(c);
		free(c);
	}
	curl_multi_cleanup(h->multi);
	sockets_release(h);
	pthread_mutex_destroy(&h->lock);
	for (size_t i = 0; i < PLAIN_HOSTS_MAX; i++)
		free(h->plain_hosts[i]);
	free(h->user_agent);
	free(h->socket_path);
	free(h->ca_file);
	free(h->ca_folder);
	free(h);
}

enum err http_new(struct http **out, const char *user_agent, struct error *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http *h = calloc(1, sizeof *h);

	if (!h)
		return error_set(e, ERR_NO_MEMORY, "HTTP");
	pthread_once(&once, init_libcurl);
	pthread_mutex_init(&h->lock, NULL);
	h->foreign = (struct foreign_answers)FOREIGN_ANSWERS_INIT;
	if (!build(h, user_agent) || thread_start(&h->thread, run, h)) {
		release(h);
		return error_set(e, ERR_NO_MEMORY, "no memory or no thread for HTTP");
	}
	*out = h;
	return ERR_OK;
}

enum err http_use_socket(struct http *h, const char *path, struct error *e)
{
	return copy(&h->socket_path, path) ? ERR_OK : error_set(e, ERR_NO_MEMORY, "HTTP");
}

struct foreign_answers *http_foreign(struct http *h)
{
	return &h->foreign;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	assert(!h->exchanges);
	h->is_closing = true;
	pthread_mutex_unlock(&h->lock);
	curl_multi_wakeup(h->multi);
	pthread_join(h->thread, NULL);
	release(h);
}
