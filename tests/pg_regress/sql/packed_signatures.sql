-- Signatures in a half or a quarter of their bytes: 16 or 8 bits of each slot.
SELECT minhash_pack(minhash('hello world', 8), 32) = minhash('hello world', 8) AS all_bits,
	minhash_pack(minhash('hello world', 8), 16), minhash_pack(minhash('hello world', 8), 8);

-- Slots that are equal by chance are taken off what is estimated.
SELECT minhash_jaccard(minhash_pack(minhash('hello world'), 8), minhash_pack(minhash('hello worlds'), 8), 8) > 0.5 AS
	similar;

-- Signatures that cannot be packed, or compared.
SELECT minhash_pack('{1,2,3}', 16);
SELECT minhash_pack('{1,2,3,4}', 12);
SELECT minhash_jaccard('{1,2}', '{1}', 16);
