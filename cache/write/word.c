#include "cache/write/word.h"

#include "cache/session/session.h"
#include "cache/write/writeback.h"

#include "providers/base/hex.h"

void cache_word(const struct cache *c, char out[CACHE_WORD_SIZE])
{
	const unsigned char *journal = writeback_journal(c->writeback);

	hex_encode(out, journal ? journal : c->journal, JOURNAL_ID_SIZE);
}
