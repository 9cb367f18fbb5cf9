-- minlsh: the whole SQL interface, in the order: texts and shingles, signatures, measures, bands,
-- documents, access method, side tables, queries, whole corpus. The source of truth: C functions are
-- declared here, and PostgreSQL checks at CREATE EXTENSION that each exists.

-- texts and shingles

CREATE FUNCTION normalize_text(body text, normalization text DEFAULT 'plain', stop_words text DEFAULT 'english') RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_normalize_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION normalize_text(text, text, text) IS
	'a text after normalization: by the name of a preset, or by its steps';

CREATE FUNCTION tokens(body text, unit text DEFAULT 'word', normalization text DEFAULT 'auto', stop_words text DEFAULT 'english') RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_tokens' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION tokens(text, text, text, text) IS
	'what shingles are windows of: the words, or characters, of a text after normalization';

CREATE FUNCTION shingles(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION shingles(text, integer, text, text, text, boolean) IS
	'distinct shingles of a text (windows of characters or words), in order of first occurrence';

CREATE FUNCTION shingle_hashes(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_shingle_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION shingle_hashes(text, integer, text, text, text, boolean) IS
	'64-bit hashes of the distinct shingles of a text, in the order of shingles()';

-- signatures

CREATE FUNCTION minhash(body text, num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text, integer, integer, text, text, bigint, text, text, boolean) IS
	'MinHash signature of a text''s shingles; NULL if it has none';

CREATE FUNCTION minhash(elements text[], num_perm integer DEFAULT 128, scheme text DEFAULT 'fss', seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_elements' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text[], integer, text, bigint) IS
	'MinHash signature of a ready-made set; nulls do not count; NULL if it is empty';

-- measures

CREATE FUNCTION jaccard(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION jaccard(text, text, integer, text, text, text, boolean) IS
	'exact Jaccard similarity of the shingle sets of two texts; NULL if both are empty';

CREATE FUNCTION jaccard(a anyarray, b anyarray) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(anyarray, anyarray) IS
	'exact Jaccard similarity of two sets given as arrays; nulls and repeats do not count; NULL if both are empty';

CREATE FUNCTION containment(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_containment_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION containment(text, text, integer, text, text, text, boolean) IS
	'share of the first text''s shingles that the second one has too; NULL if the first has none';

CREATE FUNCTION containment(a anyarray, b anyarray) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_containment_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION containment(anyarray, anyarray) IS
	'share of the first set''s elements that the second one has too; NULL if the first is empty';

CREATE FUNCTION minhash_jaccard(a integer[], b integer[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_jaccard(integer[], integer[]) IS
	'Jaccard similarity estimated from two signatures of the same configuration: the share of equal slots';

CREATE FUNCTION minhash_pack(signature integer[], slot_bits integer) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_pack' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_pack(integer[], integer) IS
	'16 or 8 bits of each slot of a signature: what an index with slot_bits stores';

CREATE FUNCTION minhash_jaccard(a integer[], b integer[], slot_bits integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_jaccard_packed' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_jaccard(integer[], integer[], integer) IS
	'Jaccard similarity estimated from two packed signatures, corrected for slots that are equal by chance';

CREATE FUNCTION minhash_error(num_perm integer, jaccard double precision) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_error_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_error(integer, double precision) IS
	'standard error of minhash_jaccard(): sqrt(J (1 - J) / num_perm)';

-- sets

CREATE FUNCTION minhash(hashes bigint[], num_perm integer DEFAULT 128, scheme text DEFAULT 'fss', seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bigint[], integer, text, bigint) IS
	'MinHash signature of a set of which the elements'' 64-bit hashes are given, as by shingle_hashes(); nulls do not count; NULL if it is empty';

CREATE FUNCTION minhash_union(a integer[], b integer[], scheme text DEFAULT 'fss') RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union(integer[], integer[], text) IS
	'signature of the union of two sets, from their signatures of the same configuration; exact';

-- The state of the aggregates that follow is a set so far, in memory of the aggregate. Aggregates
-- take neither defaults nor names: there is one for each number of options.

CREATE FUNCTION minlsh_set_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minlsh_set_combine(internal, internal) IS 'aggregate support: unites two sets';

CREATE FUNCTION minlsh_set_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_set_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_serialize(internal) IS 'aggregate support: a set as bytes for another process';

CREATE FUNCTION minlsh_set_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_deserialize(bytea, internal) IS 'aggregate support: a set from bytes of another process';

CREATE FUNCTION minlsh_set_signature(internal) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_set_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minlsh_set_signature(internal) IS 'aggregate support: the signature of a set';

CREATE FUNCTION minlsh_set_add(internal, "any") RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any") IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer, text) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer, text) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, "any", integer, text, bigint) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, "any", integer, text, bigint) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[]) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[]) IS 'aggregate support: adds the elements of another set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[], text) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[], text) IS 'aggregate support: adds the elements of another set';

CREATE AGGREGATE minhash_agg(element text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element text, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element text, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer, text) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element text, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(text, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' texts; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer, text) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bigint, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bigint, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' numbers, hashed in decimal; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer, text) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element uuid, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(uuid, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' uuids, hashed as text; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer, scheme text) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer, text) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_agg(element bytea, num_perm integer, scheme text, seed bigint) (SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_agg(bytea, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' byte strings; nulls do not count; NULL if it is empty; options as in minhash(text[])';

CREATE AGGREGATE minhash_union_agg(signature integer[]) (SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_union_agg(integer[]) IS
	'signature of the union of all rows'' sets, from their signatures of the same configuration; nulls do not count';

CREATE AGGREGATE minhash_union_agg(signature integer[], scheme text) (SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE minhash_union_agg(integer[], text) IS
	'signature of the union of all rows'' sets, from their signatures of the same configuration; nulls do not count';

CREATE FUNCTION minhash_cardinality(signature integer[], scheme text DEFAULT 'fss', OUT cardinality double precision, OUT error double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION minhash_cardinality(integer[], text) IS
	'number of distinct elements of a set, estimated from its signature, and the standard error of the estimate';

CREATE FUNCTION minhash_containment(a integer[], b integer[], scheme text DEFAULT 'fss', OUT containment_a double precision, OUT containment_b double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_containment(integer[], integer[], text) IS
	'share of the first set''s elements that the second has too, and of the second''s that the first has, estimated from their signatures';

CREATE FUNCTION minhash_weighted(elements text[], weights double precision[], num_perm integer DEFAULT 128, seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_weighted' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION minhash_weighted(text[], double precision[], integer, bigint) IS
	'signature of a weighted set, of which minhash_jaccard() estimates the weighted Jaccard similarity; NULL if it is empty';

CREATE FUNCTION weighted_jaccard(a text[], a_weights double precision[], b text[], b_weights double precision[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_weighted_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION weighted_jaccard(text[], double precision[], text[], double precision[]) IS
	'exact weighted Jaccard similarity: the sum of each element''s lesser weight over that of its greater; NULL if both sets are empty';

CREATE FUNCTION text_profile(body text, min_token_len integer DEFAULT 2, quant_rate double precision DEFAULT 0.01,
		OUT token text, OUT count integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_text_profile' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100;
COMMENT ON FUNCTION text_profile(text, integer, double precision) IS
	'frequent words of a text and how often they come, rounded down, the most frequent first: what text_profile_signature() digests';

CREATE FUNCTION text_profile_signature(body text, min_token_len integer DEFAULT 2, quant_rate double precision DEFAULT 0.01) RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_text_profile_signature' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION text_profile_signature(text, integer, double precision) IS
	'MD5 of the frequent words of a text, as Apache Nutch''s TextProfileSignature; NULL if it has none';

CREATE FUNCTION minhash_from_lean(lean bytea, OUT signature integer[], OUT seed bigint, OUT scheme text) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_from_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_lean(bytea) IS
	'reads what LeanMinHash.serialize() of the Python library datasketch wrote; no signature if the set was empty';

CREATE FUNCTION minhash_to_lean(signature integer[], scheme text DEFAULT 'datasketch_affine32', seed bigint DEFAULT 1, byte_order text DEFAULT '@') RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_minhash_to_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_to_lean(integer[], text, bigint, text) IS
	'a signature as bytes that LeanMinHash.deserialize() of the Python library datasketch reads';

-- bands

CREATE FUNCTION band_hashes(signature integer[], bands integer, rows integer) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_band_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION band_hashes(integer[], integer, integer) IS
	'one 64-bit hash for each band of a signature; the band''s number is part of it';

CREATE FUNCTION lsh_probability(jaccard double precision, bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_probability_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_probability(double precision, integer, integer) IS
	'probability that two documents share a band: 1 - (1 - J^rows)^bands, the S-curve';

CREATE FUNCTION lsh_threshold(bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_threshold_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_threshold(integer, integer) IS
	'where the S-curve rises: (1 / bands)^(1 / rows)';

CREATE FUNCTION lsh_params(threshold double precision, num_perm integer DEFAULT 128, recall double precision DEFAULT 0.99,
		OUT bands integer, OUT rows integer, OUT recall_at_threshold double precision, OUT probes integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_lsh_params_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION lsh_params(double precision, integer, double precision) IS
	'bands and rows with the fewest false candidates that reach the recall at the threshold; probes: how many of the bands suffice there';

-- textbook

CREATE FUNCTION minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_with' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_with(bigint[], bigint[], bigint[], bigint) IS
	'MinHash signature of a set of row numbers under the given functions (a x + b) mod p; nulls do not count; NULL if it is empty';

CREATE FUNCTION minlsh_version() RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_version_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_version() IS 'version of the minlsh library that is loaded';

-- documents

-- access method

CREATE FUNCTION minlsh_handler(internal) RETURNS pg_catalog.index_am_handler
	AS 'MODULE_PATHNAME', 'minlsh_handler' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_handler(internal) IS 'the access method minlsh, for PostgreSQL alone to call';

CREATE ACCESS METHOD minlsh TYPE INDEX HANDLER minlsh_handler;
COMMENT ON ACCESS METHOD minlsh IS 'near-duplicate index: entries by MinHash and LSH bands, in B-tree pages';

-- Operator classes of document columns: an entry's key is stored as a tid, whose comparison is function 1,
-- and equal keys have equal bytes (function 4).

CREATE OPERATOR FAMILY minlsh_band_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_band_ops USING minlsh IS 'ready-made band hashes, as side tables have them';
CREATE OPERATOR CLASS minlsh_band_ops FOR TYPE pg_catalog.int8[] USING minlsh FAMILY minlsh_band_ops AS
	OPERATOR 1 pg_catalog.&& (pg_catalog.anyarray, pg_catalog.anyarray),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_band_ops USING minlsh IS 'ready-made band hashes, as side tables have them';

-- Operator classes of scope columns, searched by =: their hash (function 7) is part of each key, and is what
-- tells them from document columns. One byte of it is stored as such.

CREATE OPERATOR FAMILY minlsh_integer_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_int2_scope_ops DEFAULT FOR TYPE pg_catalog.int2 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashint2extended(pg_catalog.int2, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR CLASS minlsh_int4_scope_ops DEFAULT FOR TYPE pg_catalog.int4 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashint4extended(pg_catalog.int4, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR CLASS minlsh_int8_scope_ops DEFAULT FOR TYPE pg_catalog.int8 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashint8extended(pg_catalog.int8, pg_catalog.int8),
	STORAGE pg_catalog."char";
ALTER OPERATOR FAMILY minlsh_integer_scope USING minlsh ADD
	OPERATOR 1 pg_catalog.= (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 1 pg_catalog.= (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 1 pg_catalog.= (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 1 pg_catalog.= (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 1 pg_catalog.= (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 1 pg_catalog.= (pg_catalog.int8, pg_catalog.int4);
CREATE OPERATOR FAMILY minlsh_text_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_text_scope_ops FOR TYPE pg_catalog.text USING minlsh FAMILY minlsh_text_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashtextextended(pg_catalog.text, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_bpchar_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_bpchar_scope_ops DEFAULT FOR TYPE pg_catalog.bpchar USING minlsh FAMILY minlsh_bpchar_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashbpcharextended(pg_catalog.bpchar, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_name_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_name_scope_ops DEFAULT FOR TYPE pg_catalog.name USING minlsh FAMILY minlsh_name_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashnameextended(pg_catalog.name, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_char_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_char_scope_ops DEFAULT FOR TYPE pg_catalog."char" USING minlsh FAMILY minlsh_char_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashcharextended(pg_catalog."char", pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_bool_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_bool_scope_ops DEFAULT FOR TYPE pg_catalog.bool USING minlsh FAMILY minlsh_bool_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashcharextended(pg_catalog."char", pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_uuid_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_uuid_scope_ops DEFAULT FOR TYPE pg_catalog.uuid USING minlsh FAMILY minlsh_uuid_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.uuid_hash_extended(pg_catalog.uuid, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_oid_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_oid_scope_ops DEFAULT FOR TYPE pg_catalog.oid USING minlsh FAMILY minlsh_oid_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashoidextended(pg_catalog.oid, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_date_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_date_scope_ops DEFAULT FOR TYPE pg_catalog.date USING minlsh FAMILY minlsh_date_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashint4extended(pg_catalog.int4, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_timestamp_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_timestamp_scope_ops DEFAULT FOR TYPE pg_catalog.timestamp USING minlsh FAMILY minlsh_timestamp_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.timestamp_hash_extended(pg_catalog.timestamp, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_timestamptz_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_timestamptz_scope_ops DEFAULT FOR TYPE pg_catalog.timestamptz USING minlsh FAMILY minlsh_timestamptz_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.timestamp_hash_extended(pg_catalog.timestamp, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_numeric_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_numeric_scope_ops DEFAULT FOR TYPE pg_catalog.numeric USING minlsh FAMILY minlsh_numeric_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hash_numeric_extended(pg_catalog.numeric, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_bytea_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_bytea_scope_ops DEFAULT FOR TYPE pg_catalog.bytea USING minlsh FAMILY minlsh_bytea_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashvarlenaextended(internal, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_inet_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_inet_scope_ops DEFAULT FOR TYPE pg_catalog.inet USING minlsh FAMILY minlsh_inet_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashinetextended(pg_catalog.inet, pg_catalog.int8),
	STORAGE pg_catalog."char";
CREATE OPERATOR FAMILY minlsh_enum_scope USING minlsh;
CREATE OPERATOR CLASS minlsh_enum_scope_ops DEFAULT FOR TYPE pg_catalog.anyenum USING minlsh FAMILY minlsh_enum_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid), FUNCTION 7 pg_catalog.hashenumextended(pg_catalog.anyenum, pg_catalog.int8),
	STORAGE pg_catalog."char";

-- side tables

-- queries

-- whole corpus
