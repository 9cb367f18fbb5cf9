-- Signatures from and to Python: the library datasketch, bit for bit. These were made there:
--
--   m = MinHash(num_perm=16, scheme="affine32")          # "affine32": the default since 2.0
--   for item in ["bread", "milk", "beer"]: m.update(item.encode())
--   lean = LeanMinHash(m)
--   b = bytearray(lean.bytesize()); lean.serialize(b)

CREATE TEMP TABLE python (scheme text, slots bigint[], native bytea, little bytea, big bytea);
INSERT INTO python VALUES
	('datasketch_affine32',
	 '{633290487,1883094894,866155053,2486070358,292429020,1135197675,655858983,1516265802,386500777,1937396766,
	 1267589288,1472279733,1252697583,299940720,2257420115,296210258}',
	 '\x0100000000000000f0ffffff01000000f73ebf256ebf3d702d7aa033566c2e94dc1c6e11ebbda943279d17274a61605aa98809171e547a73
	 a8e08d4bb534c157efa5aa4a70bbe011537f8d8652cfa711',
	 '\x0100000000000000f0ffffff01f73ebf256ebf3d702d7aa033566c2e94dc1c6e11ebbda943279d17274a61605aa98809171e547a73a8e08d
	 4bb534c157efa5aa4a70bbe011537f8d8652cfa711',
	 '\x0000000000000001fffffff00125bf3ef7703dbf6e33a07a2d942e6c56116e1cdc43a9bdeb27179d275a60614a170988a9737a541e4b8de0
	 a857c134b54aaaa5ef11e0bb70868d7f5311a7cf52'),
	('datasketch_legacy',
	 '{1548227231,1481792799,297276210,1080057090,15443802,3100789075,855189553,2161952742,211078130,1268813560,
	 3107789887,678462043,26408743,1351474411,1195591348,630326276}',
	 '\x0100000000000000100000009f12485c1f5d52583213b811025d60405aa7eb005349d2b83128f932e6c7dc80f2cb940cf88ea04b3f1c3db9
	 5b82702827f79201ebdc8d50b446434704049225',
	 '\x0100000000000000100000009f12485c1f5d52583213b811025d60405aa7eb005349d2b83128f932e6c7dc80f2cb940cf88ea04b3f1c3db9
	 5b82702827f79201ebdc8d50b446434704049225',
	 '\x0000000000000001000000105c48129f58525d1f11b8133240605d0200eba75ab8d2495332f9283180dcc7e60c94cbf24ba08ef8b93d1c3f
	 2870825b0192f727508ddceb474346b425920404');

-- The same set in SQL has the same signature. A slot is a uint32 there and an integer here: the
-- same bits.
SELECT scheme, signature = ARRAY(SELECT slot::bit(32)::integer FROM unnest(slots) WITH ORDINALITY AS s (slot, i)
	ORDER BY i) AS same
FROM python, minhash(ARRAY['bread', 'milk', 'beer'], 16, scheme) AS signature ORDER BY scheme;
SELECT scheme, minhash_agg(item, 16, scheme, 0) = minhash(array_agg(item), 16, scheme) AS rows
FROM python, unnest(ARRAY['bread', 'milk', 'beer']) AS item GROUP BY scheme ORDER BY scheme;

-- From Python: LeanMinHash bytes in any byte order, with the seed and the scheme.
SELECT minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e011f36');
SELECT p.scheme, l.seed, l.scheme = p.scheme AS scheme,
	l.signature = minhash(ARRAY['bread', 'milk', 'beer'], 16, p.scheme) AS signature
FROM python AS p, unnest(ARRAY[native, little, big]) AS bytes, minhash_from_lean(bytes) AS l ORDER BY 1;
SELECT l.signature = minhash(ARRAY['a'], 4, l.scheme, l.seed) AS comparable
FROM minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e011f36') AS l;
-- An empty set has no signature.
SELECT * FROM minhash_from_lean('\x0100000000000000fcffffff01000000ffffffffffffffffffffffffffffffff');
SELECT minhash_from_lean(NULL);
-- Bytes that were cut off, or are too many, are noticed.
SELECT minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e');
SELECT minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e011f3600');

-- To Python: what LeanMinHash.deserialize(b) reads there.
SELECT minhash_to_lean(minhash(ARRAY['a'], 4, 'datasketch_affine32', 7), seed => 7);
SELECT p.scheme, minhash_to_lean(signature, p.scheme) = native AS native,
	minhash_to_lean(signature, p.scheme, byte_order => '<') = little AS little,
       minhash_to_lean(signature, p.scheme, byte_order => '!') = big AS big,
           minhash_to_lean(signature, p.scheme, 0) = native AS default_seed
FROM python AS p, minhash(ARRAY['bread', 'milk', 'beer'], 16, p.scheme) AS signature ORDER BY p.scheme;
SELECT count(*) AS there_and_back
FROM generate_series(1, 100) AS i, unnest(ARRAY['datasketch_affine32', 'datasketch_legacy']) AS scheme_of (name),
	unnest('{@,=,<,>,!}'::text[]) AS byte_order,
     minhash(ARRAY[i::text], 1 + i, name, i) AS s, minhash_from_lean(minhash_to_lean(s, name, i, byte_order)) AS l
WHERE l.signature = s AND l.seed = i AND l.scheme = scheme_of.name;

-- In the bytes there is no element hash: they are read as those of SHA-1, datasketch's own.
SELECT l.scheme, l.signature = s AS same
FROM minhash(ARRAY['a', 'b'], 8, 'datasketch_affine32_xxh32') AS s,
	minhash_from_lean(minhash_to_lean(s, 'datasketch_affine32_xxh32')) AS l;

-- Unions, numbers of elements and containment work on imported
-- signatures, under their scheme.
SELECT minhash_union(a, b, 'datasketch_affine32') = minhash(ARRAY['a', 'b', 'c'], 64, 'datasketch_affine32') AS "union",
       round(cardinality) AS cardinality
FROM minhash(ARRAY['a', 'b'], 64, 'datasketch_affine32') AS a, minhash(ARRAY['b', 'c'], 64, 'datasketch_affine32') AS b,
     minhash_cardinality(minhash_union(a, b, 'datasketch_affine32'), 'datasketch_affine32');

-- Schemes do not mix, where it can be seen.
SELECT minhash_to_lean(minhash(ARRAY['a'], 4), 'fss');
SELECT minhash_to_lean(minhash(ARRAY['a'], 4), 'permutations');
SELECT minhash_union(l.signature, minhash(ARRAY['a'], 4, l.scheme, 7))
FROM minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e011f36') AS l;
-- Seed 0 of Python: here seed => 0 is the scheme's own, 1, and such signatures would seem alike.
SELECT minhash_from_lean('\x0000000000000000fcffffff010000008e4ddf45d8431c6244244bec2a4ef124');
-- affine64, whose values have 64 bits.
SELECT minhash_from_lean('\x0100000000000000feffffff0200000000000000000000000000000000000000');

-- What is no LeanMinHash.
SELECT minhash_from_lean('');
SELECT minhash_from_lean('\x0700000000000000fcffffff01000000206ec66dae5350f2f04807076e011f');
SELECT minhash_from_lean('\x0700000000000000fcffffff09000000206ec66dae5350f2f04807076e011f36');
SELECT minhash_from_lean('\x070000000000000000000000');
SELECT minhash_from_lean('\x070000000100000001000000206ec66d');
SELECT minhash_to_lean('{}');
SELECT minhash_to_lean('{1,NULL}');
SELECT minhash_to_lean('{1}', 'datasketch');
SELECT minhash_to_lean('{1}', seed => -1);
SELECT minhash_to_lean('{1}', seed => 4294967296);
SELECT minhash_to_lean('{1}', byte_order => 'x');
\set VERBOSITY sqlstate
SELECT minhash_from_lean('');
SELECT minhash_to_lean(minhash(ARRAY['a'], 4), 'fss');
SELECT minhash_from_lean('\x0000000000000000fcffffff010000008e4ddf45d8431c6244244bec2a4ef124');
DROP TABLE python;
