#include "providers/http/network.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/http/client.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

int network_open(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof to))
		cleanup_close(&fd);
	return fd;
}

/*
 * False: the message is of no lost address that a far host could be reached from. Link addresses
 * come and go with containers.
 */
static bool address_of(const struct nlmsghdr *message, char text[INET6_ADDRSTRLEN])
{
	struct ifaddrmsg *about = NLMSG_DATA(message);
	int len = (int)IFA_PAYLOAD(message);

	if (message->nlmsg_type != RTM_DELADDR || about->ifa_scope == RT_SCOPE_LINK)
		return false;
	for (struct rtattr *a = IFA_RTA(about); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		size_t want = about->ifa_family == AF_INET ? 4 : 16;
		bool is_it = a->rta_type == IFA_LOCAL ||
			(a->rta_type == IFA_ADDRESS && about->ifa_family == AF_INET6);

		if (is_it && RTA_PAYLOAD(a) == want)
			return inet_ntop(about->ifa_family, RTA_DATA(a), text, INET6_ADDRSTRLEN);
	}
	return false;
}

static bool comes_from(struct transfer *t, const char *address)
{
	char *from = NULL;

	if (!t->is_sent || curl_easy_getinfo(t->easy, CURLINFO_LOCAL_IP, &from))
		return false;
	return from && strcmp(from, address) == 0;
}

static void lose_address(struct http *h, const char *address)
{
	struct transfer *t = LIST_FIRST(&h->silence.running);

	log_info(LOG_HTTP, "this machine has lost the address %s", address);
	http_drop_connections(h);
	while (t) {
		struct transfer *next = LIST_NEXT(t, running);

		if (comes_from(t, address))
			transfer_give_up(
				t, h->multi, "this machine has lost the address that it came from");
		t = next;
	}
}

static void take_messages(struct http *h, const void *bytes, size_t size)
{
	const struct nlmsghdr *message = bytes;
	char address[INET6_ADDRSTRLEN];
	unsigned len = (unsigned)size;

	for (; NLMSG_OK(message, len); message = NLMSG_NEXT(message, len))
		if (address_of(message, address))
			lose_address(h, address);
}

void network_serve(struct http *h)
{
	_Alignas(struct nlmsghdr) char bytes[8192];
	ssize_t got;

	if (h->network_fd < 0)
		return;
	while ((got = recv(h->network_fd, bytes, sizeof bytes, 0)) > 0)
		take_messages(h, bytes, (size_t)got);
	/* The kernel had more messages than fit. */
	if (got < 0 && errno == ENOBUFS)
		http_drop_connections(h);
}
