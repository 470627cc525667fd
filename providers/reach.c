#include "providers/reach.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RFC 1035, 2.3.4. */
#define LABEL_MAX    63
#define DNS_NAME_MAX 253

/* The bits of an address of that family; 0: the text is no address. */
static int address_bits(const char *address)
{
	struct in6_addr unused;

	return inet_pton(AF_INET, address, &unused) == 1     ? 32
		: inet_pton(AF_INET6, address, &unused) == 1 ? 128
							     : 0;
}

static bool read_addresses(char out[REACH_MAX], const char *text)
{
	size_t len = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN], *end;
	long bits;
	int most;

	if (len >= sizeof address)
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	most = address_bits(address);
	bits = text[len] && isdigit((unsigned char)text[len + 1]) ? strtol(text + len + 1, &end, 10)
								  : -1;
	if (!most || (text[len] && (bits < 0 || bits > most || *end)))
		return false;
	snprintf(out, REACH_MAX, "%s/%d", address, text[len] ? (int)bits : most);
	return true;
}

static bool is_label(const char *label, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
			return false;
	return len > 0 && len <= LABEL_MAX && label[0] != '-' && label[len - 1] != '-';
}

/* Numbers alone are an address that is wrong. */
static bool is_name(const char *name)
{
	const char *label = strncmp(name, "*.", 2) ? name : name + 2;

	if (strlen(name) > DNS_NAME_MAX || !label[strspn(label, "0123456789.")])
		return false;
	for (;; label++) {
		size_t len = strcspn(label, ".");

		if (!is_label(label, len))
			return false;
		label += len;
		if (!*label)
			return true;
	}
}

bool reach_read(char out[REACH_MAX], const char *text)
{
	size_t i = 0;

	if (read_addresses(out, text))
		return true;
	if (!is_name(text))
		return false;
	for (; text[i]; i++)
		out[i] = (char)tolower((unsigned char)text[i]);
	out[i] = '\0';
	return true;
}

bool reach_is_addresses(const char *place)
{
	return strchr(place, '/') != NULL;
}
