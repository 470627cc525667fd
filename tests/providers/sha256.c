#include "providers/base/sha256.h"

#include "providers/base/hex.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

/* FIPS 180-4, and around the sizes at which one more block is needed for the length. */
Test(sha256, hashes_are_those_of_the_standard)
{
	static const struct {
		size_t len;
		const char *hash;
	} rows[] = {
		{ 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ 55, "61fd29acc674f5bf68ff548a1aef2a05ba3523a9ba8e5c82b194cbbfdf28bf1f" },
		{ 56, "63bb88000afff2d2569ece88877c4271c9f28de8620585c27538ce4e5a3701bb" },
		{ 63, "23fdd92cd8f2cdf8d057479d7bc39d74d0bd90bef2191627dcc9936102a2e90f" },
		{ 64, "9ed060c766efa8e4a9e451aef0915daf135de966d62728466cc7215baf33c0a2" },
		{ 119, "f40afa97f59f48e074e3adfbd9b8014d4b57293fb4b258fe3a0849e4ca44af8b" },
		{ 120, "b02c2454cf7a177aefdeb3e3d26b447fcc3d5db67be300d67e702c2b062dbb88" },
		{ 1000, "3cf64b5ba8e8748e2d66fa0df805d550ab15f0ae76b9ec99ba87d656c00420f5" },
	};
	unsigned char bytes[1000], hash[SHA256_SIZE];
	char text[2 * SHA256_SIZE + 1];

	for (size_t n = 0; n < sizeof bytes; n++)
		bytes[n] = (unsigned char)("abc"[n % 3]);
	for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
		sha256(bytes, rows[n].len, hash);
		hex_encode(text, hash, sizeof hash);
		cr_expect(eq(str, text, (char *)rows[n].hash), "%zu bytes", rows[n].len);
	}
}
