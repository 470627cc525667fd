#include "tools/spelling.h"

static size_t least(size_t a, size_t b, size_t c)
{
	size_t least_of_two = a < b ? a : b;

	return least_of_two < c ? least_of_two : c;
}

size_t spelling_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[SPELLING_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t changed = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = least(changed, row[j] + 1, row[j - 1] + 1);
		}
	}
	return row[b_len];
}
