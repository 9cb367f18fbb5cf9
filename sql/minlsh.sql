-- minlsh: the whole SQL interface, in the order: texts and shingles, signatures, measures, passages, sets, bands,
-- documents, searches for passages, access method, keys, side tables, queries, whole corpus. The source of truth:
-- C functions are declared here, and PostgreSQL checks at CREATE EXTENSION that each exists. More than 700 lines:
-- CREATE EXTENSION runs one script.

-- texts and shingles

CREATE FUNCTION normalize_text(body text, normalization text DEFAULT 'plain', stop_words text DEFAULT 'english')
		RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_normalize_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION normalize_text(text, text, text) IS
	'text as it is compared, after the given presets and steps of normalization';

CREATE FUNCTION tokens(body text, unit text DEFAULT 'word', normalization text DEFAULT 'auto',
		stop_words text DEFAULT 'english') RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_tokens' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION tokens(text, text, text, text) IS
	'words or characters of a text after normalization, which shingles are made of';

CREATE FUNCTION codes(body text, min_length integer DEFAULT 4) RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_codes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION codes(text, integer) IS
	'distinct words of a text with a digit in them, such as model numbers, folded and without punctuation';

CREATE FUNCTION shingles(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS text[]
	AS 'MODULE_PATHNAME', 'minlsh_shingles' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION shingles(text, integer, text, text, text, boolean) IS
	'distinct shingles of a text (windows of characters or words), in order of their first occurrence';

CREATE FUNCTION shingle_hashes(body text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_shingle_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION shingle_hashes(text, integer, text, text, text, boolean) IS
	'64-bit hashes of the distinct shingles of a text, in the order of shingles()';

-- signatures

CREATE FUNCTION minhash(body text, num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5,
		unit text DEFAULT 'char', scheme text DEFAULT 'fss', seed bigint DEFAULT 0,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(text, integer, integer, text, text, bigint, text, text, boolean) IS
	'MinHash signature of a text''s shingles; NULL if it has none';

CREATE FUNCTION minhash(elements anyarray, num_perm integer DEFAULT 128, scheme text DEFAULT 'fss',
		seed bigint DEFAULT 0)
	RETURNS integer[] AS 'MODULE_PATHNAME', 'minlsh_minhash_elements' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(anyarray, integer, text, bigint) IS
	'MinHash signature of a set of texts, integers, uuids or byte strings, without nulls; NULL if it is empty';

-- measures

CREATE FUNCTION jaccard(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false)
		RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION jaccard(text, text, integer, text, text, text, boolean) IS
	'exact Jaccard similarity of the shingle sets of two texts; NULL if both are empty';

CREATE FUNCTION jaccard(a anyarray, b anyarray) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(anyarray, anyarray) IS
	'exact Jaccard similarity of two sets given as arrays; nulls and repeats do not count; NULL if both are empty';

CREATE FUNCTION containment(a text, b text, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false)
		RETURNS double precision
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
	'signature in a half or a quarter of its bytes, with 16 or 8 bits of each slot';

CREATE FUNCTION minhash_jaccard(a integer[], b integer[], slot_bits integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_jaccard(integer[], integer[], integer) IS
	'Jaccard similarity estimated from two packed signatures, corrected for slots that are equal by chance';

CREATE FUNCTION minhash_error(num_perm integer, jaccard double precision) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_minhash_error' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minhash_error(integer, double precision) IS
	'standard error of minhash_jaccard(): sqrt(J (1 - J) / num_perm)';

-- passages

CREATE FUNCTION shared_passages(a text, b text, min_match integer DEFAULT 50, normalization text DEFAULT 'plain')
	RETURNS TABLE (a_from integer, a_length integer, b_from integer, b_length integer, passage text)
	AS 'MODULE_PATHNAME', 'minlsh_shared_passages' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 5;
COMMENT ON FUNCTION shared_passages(text, text, integer, text) IS
	'passages of at least min_match characters that two texts have in common, with their places in both';

CREATE FUNCTION passage_coverage(passage text, body text, min_match integer DEFAULT 50,
		normalization text DEFAULT 'plain') RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_passage_coverage' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION passage_coverage(text, text, integer, text) IS
	'share of a passage''s characters that a text has in runs of at least min_match; NULL if the passage is empty';

-- sets

CREATE FUNCTION minhash_hashes(hashes bigint[], num_perm integer DEFAULT 128, scheme text DEFAULT 'fss',
		seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_hashes(bigint[], integer, text, bigint) IS
	'MinHash signature of a set from the 64-bit hashes of its elements, as shingle_hashes() returns them';

CREATE FUNCTION minhash_union(a integer[], b integer[], scheme text DEFAULT 'fss') RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_union' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_union(integer[], integer[], text) IS
	'exact signature of the union of two sets, from their signatures with the same options; NULL adds nothing';

-- The state of the aggregates that follow is a set so far, in memory of the aggregate. PostgreSQL's aggregates take
-- neither defaults nor names: what may be left out is an aggregate of its own.

CREATE FUNCTION minlsh_set_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minlsh_set_combine(internal, internal) IS 'aggregate support: unites two sets';

CREATE FUNCTION minlsh_set_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_set_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_serialize(internal) IS
	'aggregate support: converts a set to bytes for another process';

CREATE FUNCTION minlsh_set_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_deserialize(bytea, internal) IS
	'aggregate support: converts bytes from another process to a set';

CREATE FUNCTION minlsh_set_signature(internal) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_set_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minlsh_set_signature(internal) IS 'aggregate support: computes the signature of a set';

CREATE FUNCTION minlsh_set_add(internal, anynonarray) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, anynonarray) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, anynonarray, integer) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, anynonarray, integer) IS 'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add(internal, anynonarray, integer, text, bigint) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add(internal, anynonarray, integer, text, bigint) IS
	'aggregate support: adds an element to a set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[]) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[]) IS
	'aggregate support: adds the elements of another set';

CREATE FUNCTION minlsh_set_add_signature(internal, integer[], text) RETURNS internal
	AS 'MODULE_PATHNAME', 'minlsh_set_add_signature' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_set_add_signature(internal, integer[], text) IS
	'aggregate support: adds the elements of another set';

CREATE AGGREGATE minhash_agg(element anynonarray) (
	SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature, PARALLEL = SAFE,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize
);
COMMENT ON AGGREGATE minhash_agg(anynonarray) IS
	'MinHash signature of the set of all rows'' elements: texts, integers, uuids or byte strings; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element anynonarray, num_perm integer) (
	SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature, PARALLEL = SAFE,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize
);
COMMENT ON AGGREGATE minhash_agg(anynonarray, integer) IS
	'MinHash signature of the set of all rows'' elements with num_perm slots; NULL if it is empty';

CREATE AGGREGATE minhash_agg(element anynonarray, num_perm integer, scheme text, seed bigint) (
	SFUNC = minlsh_set_add, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature, PARALLEL = SAFE,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize
);
COMMENT ON AGGREGATE minhash_agg(anynonarray, integer, text, bigint) IS
	'MinHash signature of the set of all rows'' elements; options as in minhash(anyarray); NULL if it is empty';

CREATE AGGREGATE minhash_union_agg(signature integer[]) (
	SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature, PARALLEL = SAFE,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize
);
COMMENT ON AGGREGATE minhash_union_agg(integer[]) IS
	'signature of the union of all rows'' sets, from their signatures with the same options; nulls do not count';

CREATE AGGREGATE minhash_union_agg(signature integer[], scheme text) (
	SFUNC = minlsh_set_add_signature, STYPE = internal, SSPACE = 2048, FINALFUNC = minlsh_set_signature, PARALLEL = SAFE,
	COMBINEFUNC = minlsh_set_combine, SERIALFUNC = minlsh_set_serialize, DESERIALFUNC = minlsh_set_deserialize
);
COMMENT ON AGGREGATE minhash_union_agg(integer[], text) IS
	'signature of the union of all rows'' sets, from their signatures of that scheme; nulls do not count';

CREATE FUNCTION minhash_cardinality(signature integer[], scheme text DEFAULT 'fss', OUT cardinality double precision,
		OUT error double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION minhash_cardinality(integer[], text) IS
	'number of distinct elements of a set, estimated from its signature, and the standard error of the estimate';

CREATE FUNCTION minhash_containment(a integer[], b integer[], scheme text DEFAULT 'fss',
		OUT containment_a double precision, OUT containment_b double precision) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_containment' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_containment(integer[], integer[], text) IS
	'estimated share of the first set that the second one has too, and the reverse, from their signatures';

CREATE FUNCTION minhash_weighted(elements text[], weights double precision[], num_perm integer DEFAULT 128,
		seed bigint DEFAULT 0) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_weighted' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION minhash_weighted(text[], double precision[], integer, bigint) IS
	'signature of a weighted set: minhash_jaccard() estimates the weighted Jaccard similarity; NULL if it is empty';

CREATE FUNCTION weighted_jaccard(a text[], a_weights double precision[], b text[], b_weights double precision[])
		RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_weighted_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION weighted_jaccard(text[], double precision[], text[], double precision[]) IS
	'exact weighted Jaccard similarity: the sum of the lesser weights over that of the greater; NULL if both are empty';

CREATE FUNCTION text_profile(body text, min_token_len integer DEFAULT 2, quant_rate double precision DEFAULT 0.01,
		OUT token text, OUT count integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_text_profile' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 ROWS 100;
COMMENT ON FUNCTION text_profile(text, integer, double precision) IS
	'frequent words of a text and their rounded counts, from which text_profile_signature() is computed';

CREATE FUNCTION text_profile_signature(body text, min_token_len integer DEFAULT 2,
		quant_rate double precision DEFAULT 0.01) RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_text_profile_signature' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION text_profile_signature(text, integer, double precision) IS
	'MD5 of the frequent words of a text, as Apache Nutch''s TextProfileSignature; NULL if it has none';

CREATE FUNCTION minhash_from_lean(lean bytea, OUT signature integer[], OUT seed bigint, OUT scheme text) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_minhash_from_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_from_lean(bytea) IS
	'reads the bytes of LeanMinHash.serialize() of the Python library datasketch; signature NULL if the set was empty';

CREATE FUNCTION minhash_to_lean(signature integer[], scheme text DEFAULT 'datasketch_affine32', seed bigint DEFAULT 1,
		byte_order text DEFAULT '@') RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_minhash_to_lean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minhash_to_lean(integer[], text, bigint, text) IS
	'signature as bytes for LeanMinHash.deserialize() of the Python library datasketch';

-- differences

CREATE FUNCTION minlsh_diff(a text, b text, normalization text DEFAULT 'plain', OUT found_in text, OUT passage text)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_diff' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 20;
COMMENT ON FUNCTION minlsh_diff(text, text, text) IS
	'differences of two texts word by word, in order: passages of a, of b, and of both';

CREATE FUNCTION minlsh_marked_diff(a text, b text, normalization text DEFAULT 'plain') RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_marked_diff' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION minlsh_marked_diff(text, text, text) IS
	'two texts merged into one: [-words only in a-] and {+words only in b+}';

-- bands

CREATE FUNCTION band_hashes(signature integer[], bands integer, rows integer) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_band_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION band_hashes(integer[], integer, integer) IS
	'one 64-bit hash for each band of a signature; the band''s number is part of it';

CREATE FUNCTION lsh_probability(jaccard double precision, bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_probability' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_probability(double precision, integer, integer) IS
	'probability that two documents share a band: 1 - (1 - J^rows)^bands, the S-curve';

CREATE FUNCTION lsh_threshold(bands integer, rows integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_lsh_threshold' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lsh_threshold(integer, integer) IS
	'where the S-curve rises: (1 / bands)^(1 / rows)';

CREATE FUNCTION lsh_params(threshold double precision, num_perm integer DEFAULT 128,
		recall double precision DEFAULT 0.99, OUT bands integer, OUT rows integer,
		OUT recall_at_threshold double precision, OUT probes integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_lsh_params' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION lsh_params(double precision, integer, double precision) IS
	'bands and rows that reach the recall with the fewest false candidates; probes is the number of bands that suffice';

-- textbook

CREATE FUNCTION minhash_with(elements bigint[], a bigint[], b bigint[], p bigint) RETURNS integer[]
	AS 'MODULE_PATHNAME', 'minlsh_minhash_with' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash_with(bigint[], bigint[], bigint[], bigint) IS
	'MinHash signature of a set of row numbers under the functions (a x + b) mod p; NULL if it is empty';

CREATE FUNCTION minlsh_version() RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_version() IS
	'version of the minlsh library that is loaded';

CREATE FUNCTION minlsh_versions(OUT library text, OUT extension text, OUT algorithm integer, OUT unicode text)
	AS 'MODULE_PATHNAME', 'minlsh_versions' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION minlsh_versions() IS
	'versions of the loaded library, of the extension in this database, of the signatures, and of Unicode';

CREATE FUNCTION minlsh_self_test(OUT instructions text, OUT options text, OUT passed boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_self_test' LANGUAGE C VOLATILE PARALLEL SAFE ROWS 12;
COMMENT ON FUNCTION minlsh_self_test() IS
	'computes known signatures with each instruction set of this machine; all must pass';

-- documents

CREATE TYPE minlsh_document;

CREATE FUNCTION minlsh_document_in(cstring) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document_in(cstring) IS 'I/O of type minlsh_document';

CREATE FUNCTION minlsh_document_out(minlsh_document) RETURNS cstring
	AS 'MODULE_PATHNAME', 'minlsh_document_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document_out(minlsh_document) IS 'I/O of type minlsh_document';

CREATE FUNCTION minlsh_document_recv(internal) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document_recv(internal) IS 'I/O of type minlsh_document';

CREATE FUNCTION minlsh_document_send(minlsh_document) RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_document_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document_send(minlsh_document) IS 'I/O of type minlsh_document';

CREATE TYPE minlsh_document (
	INPUT = minlsh_document_in, OUTPUT = minlsh_document_out,
	RECEIVE = minlsh_document_recv, SEND = minlsh_document_send, STORAGE = extended
);
COMMENT ON TYPE minlsh_document IS
	'a text, a set or a signature with a threshold and shingling options, which define what it is similar to';

CREATE FUNCTION minlsh_document(body text, threshold double precision DEFAULT 0.8, shingle_size integer DEFAULT 5,
		unit text DEFAULT 'char', normalization text DEFAULT 'auto', stop_words text DEFAULT 'english',
		bag boolean DEFAULT false) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_of_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document(text, double precision, integer, text, text, text, boolean) IS
	'document of a text: body ~= minlsh_document(''some text'', 0.9) is true if their shingles are that similar';

-- Without it PostgreSQL would take minlsh_document(v) of a varchar for a cast through the input function.
CREATE FUNCTION minlsh_document(body varchar, threshold double precision DEFAULT 0.8, shingle_size integer DEFAULT 5,
		unit text DEFAULT 'char', normalization text DEFAULT 'auto', stop_words text DEFAULT 'english',
		bag boolean DEFAULT false) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_of_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_document(varchar, double precision, integer, text, text, text, boolean) IS
	'document of a text: body ~= minlsh_document(''some text'', 0.9) is true if their shingles are that similar';

CREATE FUNCTION minlsh_document(elements anyarray, threshold double precision DEFAULT 0.8) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_of_set' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minlsh_document(anyarray, double precision) IS
	'document of a set, as in items ~= minlsh_document(ARRAY[''a'', ''b''], 0.9); repeats do not count';

CREATE FUNCTION minlsh_signature(signature integer[], threshold double precision DEFAULT 0.8) RETURNS minlsh_document
	AS 'MODULE_PATHNAME', 'minlsh_document_of_signature' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION minlsh_signature(integer[], double precision) IS
	'document of a signature, as in signature ~= minlsh_signature(minhash(''...'')); the share of equal slots counts';

CREATE FUNCTION jaccard(body text, document minlsh_document) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_text_document' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(text, minlsh_document) IS
	'exact Jaccard similarity of a text and a document, by the options of the document; NULL if both are empty';

CREATE FUNCTION jaccard(elements anyarray, document minlsh_document) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_array_document' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(anyarray, minlsh_document) IS
	'exact Jaccard similarity of two sets, NULL if both are empty; of signatures, the share of equal slots';

CREATE FUNCTION jaccard(a minlsh_document, b minlsh_document) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_jaccard_document_document' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION jaccard(minlsh_document, minlsh_document) IS
	'exact Jaccard similarity of two documents with the same options; of signatures, the share of equal slots';

-- The functions behind ~=. Those of two plain values look at minlsh.threshold, and are STABLE. All but that of two
-- documents, which may have different options, fail for no value, but for the type of an array alone: they are
-- LEAKPROOF, so that row-level security does not keep the planner from an index.

CREATE FUNCTION minlsh_similar(a text, b minlsh_document) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_text_similar_document' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(text, minlsh_document) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a minlsh_document, b text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_document_similar_text' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(minlsh_document, text) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a anyarray, b minlsh_document) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_array_similar_document' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(anyarray, minlsh_document) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a minlsh_document, b anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_document_similar_array' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(minlsh_document, anyarray) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a minlsh_document, b minlsh_document) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_document_similar_document' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(minlsh_document, minlsh_document) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a text, b text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_text_similar_text' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(text, text) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar(a anyarray, b anyarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_array_similar_array' LANGUAGE C STABLE STRICT LEAKPROOF PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_similar(anyarray, anyarray) IS 'implementation of ~= operator';

CREATE FUNCTION minlsh_similar_sel(internal, oid, internal, integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_similar_sel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_similar_sel(internal, oid, internal, integer) IS 'restriction selectivity of ~=';

CREATE FUNCTION minlsh_similar_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
	AS 'MODULE_PATHNAME', 'minlsh_similar_joinsel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_similar_joinsel(internal, oid, internal, smallint, internal) IS 'join selectivity of ~=';

CREATE OPERATOR ~= (
	LEFTARG = text, RIGHTARG = minlsh_document, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (text, minlsh_document) IS 'the text is a near-duplicate of the document';

CREATE OPERATOR ~= (
	LEFTARG = minlsh_document, RIGHTARG = text, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (minlsh_document, text) IS 'the document is a near-duplicate of the text';

CREATE OPERATOR ~= (
	LEFTARG = anyarray, RIGHTARG = minlsh_document, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (anyarray, minlsh_document) IS 'the set, or signature, is a near-duplicate of the document';

CREATE OPERATOR ~= (
	LEFTARG = minlsh_document, RIGHTARG = anyarray, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (minlsh_document, anyarray) IS 'the document is a near-duplicate of the set, or signature';

CREATE OPERATOR ~= (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (minlsh_document, minlsh_document) IS
	'the documents are near-duplicates at the greater threshold of the two';

CREATE OPERATOR ~= (
	LEFTARG = text, RIGHTARG = text, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (text, text) IS 'the texts are near-duplicates at minlsh.threshold with the default options';

CREATE OPERATOR ~= (
	LEFTARG = anyarray, RIGHTARG = anyarray, FUNCTION = minlsh_similar, COMMUTATOR = ~=,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~= (anyarray, anyarray) IS 'the sets are near-duplicates at minlsh.threshold';

-- Equality and order of documents, by their bytes: DISTINCT, GROUP BY, MERGE, the conditions of triggers and logical
-- replication with REPLICA IDENTITY FULL need an =. Equal bytes are the same value with the same options. What compares
-- is PostgreSQL's own.

CREATE FUNCTION minlsh_document_eq(minlsh_document, minlsh_document) RETURNS boolean
	AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_eq(minlsh_document, minlsh_document) IS 'implementation of = operator';
CREATE FUNCTION minlsh_document_ne(minlsh_document, minlsh_document) RETURNS boolean
	AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_ne(minlsh_document, minlsh_document) IS 'implementation of <> operator';
CREATE FUNCTION minlsh_document_lt(minlsh_document, minlsh_document) RETURNS boolean
	AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_lt(minlsh_document, minlsh_document) IS 'implementation of < operator';
CREATE FUNCTION minlsh_document_le(minlsh_document, minlsh_document) RETURNS boolean
	AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_le(minlsh_document, minlsh_document) IS 'implementation of <= operator';
CREATE FUNCTION minlsh_document_gt(minlsh_document, minlsh_document) RETURNS boolean
	AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_gt(minlsh_document, minlsh_document) IS 'implementation of > operator';
CREATE FUNCTION minlsh_document_ge(minlsh_document, minlsh_document) RETURNS boolean
	AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_ge(minlsh_document, minlsh_document) IS 'implementation of >= operator';
CREATE FUNCTION minlsh_document_cmp(minlsh_document, minlsh_document) RETURNS integer
	AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_cmp(minlsh_document, minlsh_document) IS 'less-equal-greater';
CREATE FUNCTION minlsh_document_hash(minlsh_document) RETURNS integer
	AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_hash(minlsh_document) IS 'hash';
CREATE FUNCTION minlsh_document_hash_extended(minlsh_document, bigint) RETURNS bigint
	AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_document_hash_extended(minlsh_document, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minlsh_document, minlsh_document) IS 'equal';
CREATE OPERATOR <> (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minlsh_document, minlsh_document) IS 'not equal';
CREATE OPERATOR < (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minlsh_document, minlsh_document) IS 'less than';
CREATE OPERATOR <= (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minlsh_document, minlsh_document) IS 'less than or equal';
CREATE OPERATOR > (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minlsh_document, minlsh_document) IS 'greater than';
CREATE OPERATOR >= (
	LEFTARG = minlsh_document, RIGHTARG = minlsh_document, FUNCTION = minlsh_document_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minlsh_document, minlsh_document) IS 'greater than or equal';

CREATE OPERATOR FAMILY minlsh_document_bytes_ops USING btree;
COMMENT ON OPERATOR FAMILY minlsh_document_bytes_ops USING btree IS 'documents, by their bytes';
CREATE OPERATOR CLASS minlsh_document_bytes_ops DEFAULT FOR TYPE minlsh_document
		USING btree FAMILY minlsh_document_bytes_ops AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 minlsh_document_cmp(minlsh_document, minlsh_document), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid);
COMMENT ON OPERATOR CLASS minlsh_document_bytes_ops USING btree IS 'documents, by their bytes';
CREATE OPERATOR FAMILY minlsh_document_bytes_ops USING hash;
COMMENT ON OPERATOR FAMILY minlsh_document_bytes_ops USING hash IS 'documents, by =';
CREATE OPERATOR CLASS minlsh_document_bytes_ops DEFAULT FOR TYPE minlsh_document
		USING hash FAMILY minlsh_document_bytes_ops AS
	OPERATOR 1 =, FUNCTION 1 minlsh_document_hash(minlsh_document),
	FUNCTION 2 minlsh_document_hash_extended(minlsh_document, pg_catalog.int8);
COMMENT ON OPERATOR CLASS minlsh_document_bytes_ops USING hash IS 'documents, by =';

-- searches for passages

CREATE FUNCTION passage_hashes(body text, min_match integer DEFAULT 50, normalization text DEFAULT 'plain')
	RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'minlsh_passage_hashes' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION passage_hashes(text, integer, text) IS
	'hashes that an index of passages stores; texts with min_match characters in common have a hash in common';

CREATE TYPE minlsh_passage;
CREATE FUNCTION minlsh_passage_in(cstring) RETURNS minlsh_passage
	AS 'MODULE_PATHNAME', 'minlsh_passage_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_in(cstring) IS 'input of minlsh_passage';
CREATE FUNCTION minlsh_passage_out(minlsh_passage) RETURNS cstring
	AS 'MODULE_PATHNAME', 'minlsh_passage_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_out(minlsh_passage) IS 'output of minlsh_passage';
CREATE FUNCTION minlsh_passage_recv(internal) RETURNS minlsh_passage
	AS 'MODULE_PATHNAME', 'minlsh_passage_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_recv(internal) IS 'binary input of minlsh_passage';
CREATE FUNCTION minlsh_passage_send(minlsh_passage) RETURNS bytea
	AS 'MODULE_PATHNAME', 'minlsh_passage_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_send(minlsh_passage) IS 'binary output of minlsh_passage';
CREATE TYPE minlsh_passage (
	INPUT = minlsh_passage_in, OUTPUT = minlsh_passage_out,
	RECEIVE = minlsh_passage_recv, SEND = minlsh_passage_send, STORAGE = extended
);
COMMENT ON TYPE minlsh_passage IS 'a passage to find in texts, with the share of it that a text must have';

CREATE FUNCTION minlsh_passage(passage text, coverage double precision DEFAULT 0.8, min_match integer DEFAULT 50,
		normalization text DEFAULT 'plain') RETURNS minlsh_passage
	AS 'MODULE_PATHNAME', 'minlsh_passage_of_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_passage(text, double precision, integer, text) IS
	'passage to look for: body ~> minlsh_passage(''some text'', 0.8) is true if the body has 80 % of it';

-- Without it PostgreSQL would take minlsh_passage(v) of a varchar for a cast through the input function.
CREATE FUNCTION minlsh_passage(passage varchar, coverage double precision DEFAULT 0.8, min_match integer DEFAULT 50,
		normalization text DEFAULT 'plain') RETURNS minlsh_passage
	AS 'MODULE_PATHNAME', 'minlsh_passage_of_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION minlsh_passage(varchar, double precision, integer, text) IS
	'passage to look for: body ~> minlsh_passage(''some text'', 0.8) is true if the body has 80 % of it';

-- Not LEAKPROOF, though they fail for no value: an index scan under a policy would count the hidden rows that have what
-- was guessed, and whoever knows a few characters of a text would learn the rest one by one.
CREATE FUNCTION minlsh_contains(body text, passage minlsh_passage) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_text_contains_passage' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_contains(text, minlsh_passage) IS 'implementation of ~> operator';
CREATE FUNCTION minlsh_within(passage minlsh_passage, body text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_passage_within_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION minlsh_within(minlsh_passage, text) IS 'implementation of <~ operator';

CREATE OPERATOR ~> (
	LEFTARG = text, RIGHTARG = minlsh_passage, FUNCTION = minlsh_contains, COMMUTATOR = <~,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR ~> (text, minlsh_passage) IS 'the text contains the passage';
CREATE OPERATOR <~ (
	LEFTARG = minlsh_passage, RIGHTARG = text, FUNCTION = minlsh_within, COMMUTATOR = ~>,
	RESTRICT = minlsh_similar_sel, JOIN = minlsh_similar_joinsel
);
COMMENT ON OPERATOR <~ (minlsh_passage, text) IS 'the passage is in the text';

-- Equality and order of passages, as those of documents.

CREATE FUNCTION minlsh_passage_eq(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_eq(minlsh_passage, minlsh_passage) IS 'implementation of = operator';
CREATE FUNCTION minlsh_passage_ne(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_ne(minlsh_passage, minlsh_passage) IS 'implementation of <> operator';
CREATE FUNCTION minlsh_passage_lt(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_lt(minlsh_passage, minlsh_passage) IS 'implementation of < operator';
CREATE FUNCTION minlsh_passage_le(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'byteale' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_le(minlsh_passage, minlsh_passage) IS 'implementation of <= operator';
CREATE FUNCTION minlsh_passage_gt(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'byteagt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_gt(minlsh_passage, minlsh_passage) IS 'implementation of > operator';
CREATE FUNCTION minlsh_passage_ge(minlsh_passage, minlsh_passage) RETURNS boolean
	AS 'byteage' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_ge(minlsh_passage, minlsh_passage) IS 'implementation of >= operator';
CREATE FUNCTION minlsh_passage_cmp(minlsh_passage, minlsh_passage) RETURNS integer
	AS 'byteacmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_cmp(minlsh_passage, minlsh_passage) IS 'less-equal-greater';
CREATE FUNCTION minlsh_passage_hash(minlsh_passage) RETURNS integer
	AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_hash(minlsh_passage) IS 'hash';
CREATE FUNCTION minlsh_passage_hash_extended(minlsh_passage, bigint) RETURNS bigint
	AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_passage_hash_extended(minlsh_passage, bigint) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minlsh_passage, minlsh_passage) IS 'equal';
CREATE OPERATOR <> (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minlsh_passage, minlsh_passage) IS 'not equal';
CREATE OPERATOR < (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minlsh_passage, minlsh_passage) IS 'less than';
CREATE OPERATOR <= (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minlsh_passage, minlsh_passage) IS 'less than or equal';
CREATE OPERATOR > (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minlsh_passage, minlsh_passage) IS 'greater than';
CREATE OPERATOR >= (
	LEFTARG = minlsh_passage, RIGHTARG = minlsh_passage, FUNCTION = minlsh_passage_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minlsh_passage, minlsh_passage) IS 'greater than or equal';

CREATE OPERATOR FAMILY minlsh_passage_bytes_ops USING btree;
COMMENT ON OPERATOR FAMILY minlsh_passage_bytes_ops USING btree IS 'passages, by their bytes';
CREATE OPERATOR CLASS minlsh_passage_bytes_ops DEFAULT FOR TYPE minlsh_passage
		USING btree FAMILY minlsh_passage_bytes_ops AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 minlsh_passage_cmp(minlsh_passage, minlsh_passage), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid);
COMMENT ON OPERATOR CLASS minlsh_passage_bytes_ops USING btree IS 'passages, by their bytes';
CREATE OPERATOR FAMILY minlsh_passage_bytes_ops USING hash;
COMMENT ON OPERATOR FAMILY minlsh_passage_bytes_ops USING hash IS 'passages, by =';
CREATE OPERATOR CLASS minlsh_passage_bytes_ops DEFAULT FOR TYPE minlsh_passage
		USING hash FAMILY minlsh_passage_bytes_ops AS
	OPERATOR 1 =, FUNCTION 1 minlsh_passage_hash(minlsh_passage),
	FUNCTION 2 minlsh_passage_hash_extended(minlsh_passage, pg_catalog.int8);
COMMENT ON OPERATOR CLASS minlsh_passage_bytes_ops USING hash IS 'passages, by =';

-- access method

CREATE FUNCTION minlsh_handler(internal) RETURNS pg_catalog.index_am_handler
	AS 'MODULE_PATHNAME', 'minlsh_handler' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_handler(internal) IS 'handler of the access method minlsh';

CREATE ACCESS METHOD minlsh TYPE INDEX HANDLER minlsh_handler;
COMMENT ON ACCESS METHOD minlsh IS 'near-duplicate index: MinHash and LSH bands in B-tree pages';

-- Operator classes of document columns: an entry's key is stored as a tid, whose comparison is function 1,
-- and equal keys have equal bytes (function 4).

CREATE OPERATOR FAMILY minlsh_text_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_text_ops USING minlsh IS 'texts, by their shingles';
CREATE OPERATOR CLASS minlsh_text_ops DEFAULT FOR TYPE pg_catalog.text USING minlsh FAMILY minlsh_text_ops AS
	OPERATOR 1 ~= (pg_catalog.text, minlsh_document),
	OPERATOR 1 ~= (pg_catalog.text, pg_catalog.text),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_text_ops USING minlsh IS 'texts, by their shingles';

CREATE OPERATOR FAMILY minlsh_document_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_document_ops USING minlsh IS 'documents, all with the options of the index';
CREATE OPERATOR CLASS minlsh_document_ops DEFAULT FOR TYPE minlsh_document USING minlsh FAMILY minlsh_document_ops AS
	OPERATOR 1 ~= (minlsh_document, minlsh_document),
	OPERATOR 1 ~= (minlsh_document, pg_catalog.text),
	OPERATOR 1 ~= (minlsh_document, pg_catalog.anyarray),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_document_ops USING minlsh IS 'documents, all with the options of the index';

CREATE OPERATOR FAMILY minlsh_set_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_set_ops USING minlsh IS 'arrays as sets of their elements';
CREATE OPERATOR CLASS minlsh_set_ops DEFAULT FOR TYPE pg_catalog.anyarray USING minlsh FAMILY minlsh_set_ops AS
	OPERATOR 1 ~= (pg_catalog.anyarray, minlsh_document),
	OPERATOR 1 ~= (pg_catalog.anyarray, pg_catalog.anyarray),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_set_ops USING minlsh IS 'arrays as sets of their elements';

CREATE OPERATOR FAMILY minlsh_signature_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_signature_ops USING minlsh IS 'signatures made with the options of the index';
CREATE OPERATOR CLASS minlsh_signature_ops FOR TYPE pg_catalog.int4[] USING minlsh FAMILY minlsh_signature_ops AS
	OPERATOR 1 ~= (pg_catalog.anyarray, minlsh_document),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_signature_ops USING minlsh IS 'signatures made with the options of the index';

-- Function 8 makes the entries of a text, and distinguishes passages from documents.
CREATE OPERATOR FAMILY minlsh_passage_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_passage_ops USING minlsh IS 'texts, by the passages that they contain';
CREATE OPERATOR CLASS minlsh_passage_ops FOR TYPE pg_catalog.text USING minlsh FAMILY minlsh_passage_ops AS
	OPERATOR 1 ~> (pg_catalog.text, minlsh_passage),
	FUNCTION 1 pg_catalog.bttidcmp(pg_catalog.tid, pg_catalog.tid), FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 8 passage_hashes(pg_catalog.text, pg_catalog.int4, pg_catalog.text),
	STORAGE pg_catalog.tid;
COMMENT ON OPERATOR CLASS minlsh_passage_ops USING minlsh IS 'texts, by the passages that they contain';

-- Operator classes of scope columns, searched by =: their hash (function 7) is part of each key, and is what
-- distinguishes them from document columns. One byte of it is stored as such.

CREATE OPERATOR FAMILY minlsh_integer_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_integer_scope USING minlsh IS 'scopes: integers, searched by =';
CREATE OPERATOR CLASS minlsh_int2_scope_ops DEFAULT FOR TYPE pg_catalog.int2 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashint2extended(pg_catalog.int2, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_int2_scope_ops USING minlsh IS 'scopes: smallint, searched by =';
CREATE OPERATOR CLASS minlsh_int4_scope_ops DEFAULT FOR TYPE pg_catalog.int4 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashint4extended(pg_catalog.int4, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_int4_scope_ops USING minlsh IS 'scopes: integer, searched by =';
CREATE OPERATOR CLASS minlsh_int8_scope_ops DEFAULT FOR TYPE pg_catalog.int8 USING minlsh FAMILY minlsh_integer_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashint8extended(pg_catalog.int8, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_int8_scope_ops USING minlsh IS 'scopes: bigint, searched by =';
ALTER OPERATOR FAMILY minlsh_integer_scope USING minlsh ADD
	OPERATOR 1 pg_catalog.= (pg_catalog.int2, pg_catalog.int4),
	OPERATOR 1 pg_catalog.= (pg_catalog.int2, pg_catalog.int8),
	OPERATOR 1 pg_catalog.= (pg_catalog.int4, pg_catalog.int2),
	OPERATOR 1 pg_catalog.= (pg_catalog.int4, pg_catalog.int8),
	OPERATOR 1 pg_catalog.= (pg_catalog.int8, pg_catalog.int2),
	OPERATOR 1 pg_catalog.= (pg_catalog.int8, pg_catalog.int4);
CREATE OPERATOR FAMILY minlsh_text_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_text_scope USING minlsh IS
	'scopes: texts that are not documents, searched by =';
CREATE OPERATOR CLASS minlsh_text_scope_ops FOR TYPE pg_catalog.text USING minlsh FAMILY minlsh_text_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashtextextended(pg_catalog.text, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_text_scope_ops USING minlsh IS
	'scopes: texts that are not documents, searched by =';
CREATE OPERATOR FAMILY minlsh_bpchar_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_bpchar_scope USING minlsh IS 'scopes: char(n), searched by =';
CREATE OPERATOR CLASS minlsh_bpchar_scope_ops DEFAULT FOR TYPE pg_catalog.bpchar
		USING minlsh FAMILY minlsh_bpchar_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashbpcharextended(pg_catalog.bpchar, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_bpchar_scope_ops USING minlsh IS 'scopes: char(n), searched by =';
CREATE OPERATOR FAMILY minlsh_name_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_name_scope USING minlsh IS 'scopes: names, searched by =';
CREATE OPERATOR CLASS minlsh_name_scope_ops DEFAULT FOR TYPE pg_catalog.name USING minlsh FAMILY minlsh_name_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashnameextended(pg_catalog.name, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_name_scope_ops USING minlsh IS 'scopes: names, searched by =';
CREATE OPERATOR FAMILY minlsh_char_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_char_scope USING minlsh IS 'scopes: "char", searched by =';
CREATE OPERATOR CLASS minlsh_char_scope_ops DEFAULT FOR TYPE pg_catalog."char" USING minlsh FAMILY minlsh_char_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashcharextended(pg_catalog."char", pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_char_scope_ops USING minlsh IS 'scopes: "char", searched by =';
CREATE OPERATOR FAMILY minlsh_bool_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_bool_scope USING minlsh IS 'scopes: booleans, searched by =';
CREATE OPERATOR CLASS minlsh_bool_scope_ops DEFAULT FOR TYPE pg_catalog.bool USING minlsh FAMILY minlsh_bool_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashcharextended(pg_catalog."char", pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_bool_scope_ops USING minlsh IS 'scopes: booleans, searched by =';
CREATE OPERATOR FAMILY minlsh_uuid_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_uuid_scope USING minlsh IS 'scopes: uuids, searched by =';
CREATE OPERATOR CLASS minlsh_uuid_scope_ops DEFAULT FOR TYPE pg_catalog.uuid USING minlsh FAMILY minlsh_uuid_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.uuid_hash_extended(pg_catalog.uuid, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_uuid_scope_ops USING minlsh IS 'scopes: uuids, searched by =';
CREATE OPERATOR FAMILY minlsh_oid_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_oid_scope USING minlsh IS 'scopes: oids, searched by =';
CREATE OPERATOR CLASS minlsh_oid_scope_ops DEFAULT FOR TYPE pg_catalog.oid USING minlsh FAMILY minlsh_oid_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashoidextended(pg_catalog.oid, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_oid_scope_ops USING minlsh IS 'scopes: oids, searched by =';
CREATE OPERATOR FAMILY minlsh_date_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_date_scope USING minlsh IS 'scopes: dates, searched by =';
CREATE OPERATOR CLASS minlsh_date_scope_ops DEFAULT FOR TYPE pg_catalog.date USING minlsh FAMILY minlsh_date_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashint4extended(pg_catalog.int4, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_date_scope_ops USING minlsh IS 'scopes: dates, searched by =';
CREATE OPERATOR FAMILY minlsh_timestamp_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_timestamp_scope USING minlsh IS 'scopes: timestamps, searched by =';
CREATE OPERATOR CLASS minlsh_timestamp_scope_ops DEFAULT FOR TYPE pg_catalog.timestamp
		USING minlsh FAMILY minlsh_timestamp_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.timestamp_hash_extended(pg_catalog.timestamp, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_timestamp_scope_ops USING minlsh IS
	'scopes: timestamps, searched by =';
CREATE OPERATOR FAMILY minlsh_timestamptz_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_timestamptz_scope USING minlsh IS
	'scopes: timestamps with time zone, searched by =';
CREATE OPERATOR CLASS minlsh_timestamptz_scope_ops DEFAULT FOR TYPE pg_catalog.timestamptz
		USING minlsh FAMILY minlsh_timestamptz_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.timestamp_hash_extended(pg_catalog.timestamp, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_timestamptz_scope_ops USING minlsh IS
	'scopes: timestamps with time zone, searched by =';
CREATE OPERATOR FAMILY minlsh_numeric_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_numeric_scope USING minlsh IS 'scopes: numerics, searched by =';
CREATE OPERATOR CLASS minlsh_numeric_scope_ops DEFAULT FOR TYPE pg_catalog.numeric
		USING minlsh FAMILY minlsh_numeric_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hash_numeric_extended(pg_catalog.numeric, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_numeric_scope_ops USING minlsh IS 'scopes: numerics, searched by =';
CREATE OPERATOR FAMILY minlsh_bytea_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_bytea_scope USING minlsh IS 'scopes: byte strings, searched by =';
CREATE OPERATOR CLASS minlsh_bytea_scope_ops DEFAULT FOR TYPE pg_catalog.bytea USING minlsh FAMILY minlsh_bytea_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashvarlenaextended(internal, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_bytea_scope_ops USING minlsh IS
	'scopes: byte strings, searched by =';
CREATE OPERATOR FAMILY minlsh_inet_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_inet_scope USING minlsh IS
	'scopes: network addresses, searched by =';
CREATE OPERATOR CLASS minlsh_inet_scope_ops DEFAULT FOR TYPE pg_catalog.inet USING minlsh FAMILY minlsh_inet_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashinetextended(pg_catalog.inet, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_inet_scope_ops USING minlsh IS
	'scopes: network addresses, searched by =';
CREATE OPERATOR FAMILY minlsh_enum_scope USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_enum_scope USING minlsh IS 'scopes: enums, searched by =';
CREATE OPERATOR CLASS minlsh_enum_scope_ops DEFAULT FOR TYPE pg_catalog.anyenum USING minlsh FAMILY minlsh_enum_scope AS
	OPERATOR 1 pg_catalog.=, FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	FUNCTION 7 pg_catalog.hashenumextended(pg_catalog.anyenum, pg_catalog.int8),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_enum_scope_ops USING minlsh IS 'scopes: enums, searched by =';

-- Operator classes of ranges, such as the time in which a text counts. Their values take no part in the keys: a zero is
-- stored for each, and && is checked on the rows that a search finds.

CREATE OPERATOR FAMILY minlsh_range_ops USING minlsh;
COMMENT ON OPERATOR FAMILY minlsh_range_ops USING minlsh IS 'ranges: && is checked on the rows found';
CREATE OPERATOR CLASS minlsh_range_ops DEFAULT FOR TYPE pg_catalog.anyrange USING minlsh FAMILY minlsh_range_ops AS
	OPERATOR 1 pg_catalog.&&, OPERATOR 1 pg_catalog.&& (pg_catalog.anyrange, pg_catalog.anymultirange),
	FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_range_ops USING minlsh IS 'ranges: && is checked on the rows found';
CREATE OPERATOR CLASS minlsh_multirange_ops DEFAULT FOR TYPE pg_catalog.anymultirange
		USING minlsh FAMILY minlsh_range_ops AS
	OPERATOR 1 pg_catalog.&&, OPERATOR 1 pg_catalog.&& (pg_catalog.anymultirange, pg_catalog.anyrange),
	FUNCTION 1 pg_catalog.btcharcmp(pg_catalog."char", pg_catalog."char"),
	FUNCTION 4 pg_catalog.btequalimage(pg_catalog.oid),
	STORAGE pg_catalog."char";
COMMENT ON OPERATOR CLASS minlsh_multirange_ops USING minlsh IS 'multiranges: && is checked on the rows found';

-- keys
--
-- A key of any type, as jobs and lookups return it: stored and shown as text. What reads and compares bytes is
-- PostgreSQL's own. A comparison with a column takes place in the type of the column, by one of the casts; one implicit
-- cast for each category of types leaves none of them ambiguous.

CREATE TYPE minlsh_key;
CREATE FUNCTION minlsh_key_in(cstring) RETURNS minlsh_key
	AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_in(cstring) IS 'input of minlsh_key';
CREATE FUNCTION minlsh_key_out(minlsh_key) RETURNS cstring
	AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_out(minlsh_key) IS 'output of minlsh_key';
CREATE FUNCTION minlsh_key_recv(internal) RETURNS minlsh_key
	AS 'textrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_recv(internal) IS 'binary input of minlsh_key';
CREATE FUNCTION minlsh_key_send(minlsh_key) RETURNS bytea
	AS 'textsend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_send(minlsh_key) IS 'binary output of minlsh_key';
CREATE TYPE minlsh_key (
	INPUT = minlsh_key_in, OUTPUT = minlsh_key_out, RECEIVE = minlsh_key_recv, SEND = minlsh_key_send,
	LIKE = pg_catalog.text, CATEGORY = 'S', COLLATABLE = true
);
COMMENT ON TYPE minlsh_key IS
	'key of a document, stored as text; compared with a column of numbers, uuids, texts, dates or timestamps in its type';

CREATE CAST (minlsh_key AS text) WITHOUT FUNCTION AS IMPLICIT;
-- JOIN ... USING compares a key with a column of these types as text, and makes one column of their type of both.
CREATE CAST (minlsh_key AS varchar) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (minlsh_key AS bpchar) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (minlsh_key AS name) WITH INOUT AS IMPLICIT;
CREATE CAST (minlsh_key AS bigint) WITH INOUT AS IMPLICIT;
CREATE CAST (minlsh_key AS numeric) WITH INOUT AS IMPLICIT;
CREATE CAST (minlsh_key AS uuid) WITH INOUT AS IMPLICIT;
CREATE CAST (minlsh_key AS smallint) WITH INOUT AS ASSIGNMENT;
CREATE CAST (minlsh_key AS integer) WITH INOUT AS ASSIGNMENT;
CREATE CAST (minlsh_key AS date) WITH INOUT AS ASSIGNMENT;
CREATE CAST (minlsh_key AS timestamp) WITH INOUT AS ASSIGNMENT;
CREATE CAST (minlsh_key AS timestamptz) WITH INOUT AS ASSIGNMENT;

CREATE FUNCTION minlsh_key_eq(minlsh_key, minlsh_key) RETURNS boolean
	AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(minlsh_key, minlsh_key) IS 'implementation of = operator';
CREATE FUNCTION minlsh_key_ne(minlsh_key, minlsh_key) RETURNS boolean
	AS 'byteane' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_ne(minlsh_key, minlsh_key) IS 'implementation of <> operator';
CREATE FUNCTION minlsh_key_hash(minlsh_key) RETURNS integer
	AS 'hashvarlena' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_hash(minlsh_key) IS 'hash';
CREATE FUNCTION minlsh_key_hash_extended(minlsh_key, bigint) RETURNS bigint
	AS 'hashvarlenaextended' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_hash_extended(minlsh_key, bigint) IS 'hash';
CREATE FUNCTION minlsh_key_lt(minlsh_key, minlsh_key) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_key_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_lt(minlsh_key, minlsh_key) IS 'implementation of < operator';
CREATE FUNCTION minlsh_key_le(minlsh_key, minlsh_key) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_key_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_le(minlsh_key, minlsh_key) IS 'implementation of <= operator';
CREATE FUNCTION minlsh_key_gt(minlsh_key, minlsh_key) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_key_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_gt(minlsh_key, minlsh_key) IS 'implementation of > operator';
CREATE FUNCTION minlsh_key_ge(minlsh_key, minlsh_key) RETURNS boolean
	AS 'MODULE_PATHNAME', 'minlsh_key_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_ge(minlsh_key, minlsh_key) IS 'implementation of >= operator';
CREATE FUNCTION minlsh_key_cmp(minlsh_key, minlsh_key) RETURNS integer
	AS 'MODULE_PATHNAME', 'minlsh_key_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_cmp(minlsh_key, minlsh_key) IS 'less-equal-greater';
CREATE FUNCTION minlsh_key_smaller(minlsh_key, minlsh_key) RETURNS minlsh_key
	AS 'MODULE_PATHNAME', 'minlsh_key_smaller' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_smaller(minlsh_key, minlsh_key) IS 'smaller of two';
CREATE FUNCTION minlsh_key_larger(minlsh_key, minlsh_key) RETURNS minlsh_key
	AS 'MODULE_PATHNAME', 'minlsh_key_larger' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_larger(minlsh_key, minlsh_key) IS 'larger of two';

CREATE OPERATOR = (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_eq, COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (minlsh_key, minlsh_key) IS 'equal';
CREATE OPERATOR <> (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_ne, COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (minlsh_key, minlsh_key) IS 'not equal';
CREATE OPERATOR < (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_lt, COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (minlsh_key, minlsh_key) IS 'less than';
CREATE OPERATOR <= (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_le, COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (minlsh_key, minlsh_key) IS 'less than or equal';
CREATE OPERATOR > (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_gt, COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (minlsh_key, minlsh_key) IS 'greater than';
CREATE OPERATOR >= (
	LEFTARG = minlsh_key, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_ge, COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (minlsh_key, minlsh_key) IS 'greater than or equal';

-- An implicit cast to one type of a category leaves the others of it without one, and dates and times are all compared
-- with each other. So each has its operators. PostgreSQL puts the bodies in their place, and joins by what is there.
CREATE FUNCTION minlsh_key_eq(date, minlsh_key) RETURNS boolean
	AS $$ SELECT $1 OPERATOR(pg_catalog.=) $2::pg_catalog.date $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(date, minlsh_key) IS 'implementation of = operator';
CREATE FUNCTION minlsh_key_eq(minlsh_key, date) RETURNS boolean
	AS $$ SELECT $1::pg_catalog.date OPERATOR(pg_catalog.=) $2 $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(minlsh_key, date) IS 'implementation of = operator';
CREATE OPERATOR = (
	LEFTARG = date, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (date, minlsh_key) IS 'equal';
CREATE OPERATOR = (
	LEFTARG = minlsh_key, RIGHTARG = date, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (minlsh_key, date) IS 'equal';
CREATE FUNCTION minlsh_key_eq(timestamp, minlsh_key) RETURNS boolean
	AS $$ SELECT $1 OPERATOR(pg_catalog.=) $2::pg_catalog.timestamp $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(timestamp, minlsh_key) IS 'implementation of = operator';
CREATE FUNCTION minlsh_key_eq(minlsh_key, timestamp) RETURNS boolean
	AS $$ SELECT $1::pg_catalog.timestamp OPERATOR(pg_catalog.=) $2 $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(minlsh_key, timestamp) IS 'implementation of = operator';
CREATE OPERATOR = (
	LEFTARG = timestamp, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamp, minlsh_key) IS 'equal';
CREATE OPERATOR = (
	LEFTARG = minlsh_key, RIGHTARG = timestamp, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (minlsh_key, timestamp) IS 'equal';
CREATE FUNCTION minlsh_key_eq(timestamptz, minlsh_key) RETURNS boolean
	AS $$ SELECT $1 OPERATOR(pg_catalog.=) $2::pg_catalog.timestamptz $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(timestamptz, minlsh_key) IS 'implementation of = operator';
CREATE FUNCTION minlsh_key_eq(minlsh_key, timestamptz) RETURNS boolean
	AS $$ SELECT $1::pg_catalog.timestamptz OPERATOR(pg_catalog.=) $2 $$ LANGUAGE sql STABLE PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_key_eq(minlsh_key, timestamptz) IS 'implementation of = operator';
CREATE OPERATOR = (
	LEFTARG = timestamptz, RIGHTARG = minlsh_key, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, minlsh_key) IS 'equal';
CREATE OPERATOR = (
	LEFTARG = minlsh_key, RIGHTARG = timestamptz, FUNCTION = minlsh_key_eq, COMMUTATOR = =,
	RESTRICT = eqsel, JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (minlsh_key, timestamptz) IS 'equal';

CREATE OPERATOR FAMILY minlsh_key_ops USING btree;
COMMENT ON OPERATOR FAMILY minlsh_key_ops USING btree IS 'keys: numbers by value, then the rest as text';
CREATE OPERATOR CLASS minlsh_key_ops DEFAULT FOR TYPE minlsh_key USING btree FAMILY minlsh_key_ops AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 minlsh_key_cmp(minlsh_key, minlsh_key);
COMMENT ON OPERATOR CLASS minlsh_key_ops USING btree IS 'keys: numbers by value, then the rest as text';
CREATE OPERATOR FAMILY minlsh_key_ops USING hash;
COMMENT ON OPERATOR FAMILY minlsh_key_ops USING hash IS 'keys, by =';
CREATE OPERATOR CLASS minlsh_key_ops DEFAULT FOR TYPE minlsh_key USING hash FAMILY minlsh_key_ops AS
	OPERATOR 1 =, FUNCTION 1 minlsh_key_hash(minlsh_key), FUNCTION 2 minlsh_key_hash_extended(minlsh_key, pg_catalog.int8);
COMMENT ON OPERATOR CLASS minlsh_key_ops USING hash IS 'keys, by =';

-- PostgreSQL would otherwise take max(text), which orders 10 before 9.
CREATE AGGREGATE min(minlsh_key) (
	SFUNC = minlsh_key_smaller, STYPE = minlsh_key, COMBINEFUNC = minlsh_key_smaller, SORTOP = <, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(minlsh_key) IS 'smallest of all keys';
CREATE AGGREGATE max(minlsh_key) (
	SFUNC = minlsh_key_larger, STYPE = minlsh_key, COMBINEFUNC = minlsh_key_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(minlsh_key) IS 'largest of all keys';

-- side tables

CREATE FUNCTION minlsh_sync() RETURNS trigger
	AS 'MODULE_PATHNAME', 'minlsh_sync' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_sync() IS
	'trigger function that keeps a side table up to date; minlsh_create_side_table() creates the triggers';

CREATE FUNCTION minlsh_create_side_table(relation regclass, body name, key name DEFAULT NULL,
		threshold double precision DEFAULT 0.8, recall double precision DEFAULT 0.99,
		num_perm integer DEFAULT 128, shingle_size integer DEFAULT 5, unit text DEFAULT 'char',
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0, name name DEFAULT NULL,
		normalization text DEFAULT 'auto', stop_words text DEFAULT 'english', bag boolean DEFAULT false,
		if_not_exists boolean DEFAULT false, schema name DEFAULT NULL) RETURNS regclass
	AS 'MODULE_PATHNAME', 'minlsh_create_side_table' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_create_side_table(regclass, name, name, double precision, double precision, integer, integer,
	text, text, bigint, name, text, text, boolean, boolean, name) IS
	'builds a side table of signatures and band hashes of a text column and keeps it up to date; returns the side table';

CREATE FUNCTION minlsh_drop_side_table(index regclass) RETURNS void
	AS 'MODULE_PATHNAME', 'minlsh_drop_side_table' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_drop_side_table(regclass) IS
	'drops a side table and its triggers; pass the side table, or its table if it has only one';

CREATE FUNCTION minlsh_rebuild_side_table(index regclass) RETURNS regclass
	AS 'MODULE_PATHNAME', 'minlsh_rebuild_side_table' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_rebuild_side_table(regclass) IS
	'fills a side table again from its table, with the options that its index has now';

CREATE FUNCTION minlsh_check(index regclass DEFAULT NULL, sample double precision DEFAULT NULL,
		sample_seed bigint DEFAULT 0, OUT doc_id minlsh_key, OUT problem text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_check' LANGUAGE C STABLE PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION minlsh_check(regclass, double precision, bigint) IS
	'checks that an index agrees with its table; returns a row for each difference';

-- queries

-- One function for each kind of key: an integer literal reaches a key of any integer type, a
-- string literal a key of any type, anything else must be of the key's own type. Their COST is a
-- tenth of what a lookup takes. With the full cost, PostgreSQL would compile (JIT) a join with a few
-- thousand rows, which takes longer than to run it.

CREATE FUNCTION near_duplicates(key smallint, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates(smallint, double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

CREATE FUNCTION near_duplicates(key integer, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates(integer, double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

CREATE FUNCTION near_duplicates(key bigint, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates(bigint, double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

CREATE FUNCTION near_duplicates(key text, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates(text, double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

CREATE FUNCTION near_duplicates(key anyelement, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id anyelement, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates(anyelement, double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

-- A "char" could be a text or any element: without this PostgreSQL would not choose.
CREATE FUNCTION near_duplicates(key "char", threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id "char", OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates("char", double precision, regclass, text) IS
	'documents similar to the stored one with that key, most similar first; NULL is the threshold of the index';

-- Without these, PostgreSQL would only report that no such function exists.
CREATE FUNCTION near_duplicates(index text, key bigint, threshold numeric, OUT doc_id minlsh_key,
		OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_wrong_order' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicates(text, bigint, numeric) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicates(key bigint, index regclass, threshold numeric, OUT doc_id minlsh_key,
		OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_wrong_order' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicates(bigint, regclass, numeric) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicate_cluster_of(key smallint, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id bigint) RETURNS SETOF bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of(smallint, double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicate_cluster_of(key integer, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id bigint) RETURNS SETOF bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of(integer, double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicate_cluster_of(key bigint, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id bigint) RETURNS SETOF bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of(bigint, double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicate_cluster_of(key text, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id minlsh_key) RETURNS SETOF minlsh_key
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of(text, double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicate_cluster_of(key anyelement, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id anyelement) RETURNS SETOF anyelement
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of(anyelement, double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicate_cluster_of(key "char", threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, max_members integer DEFAULT 10000, OUT doc_id "char") RETURNS SETOF "char"
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 10;
COMMENT ON FUNCTION near_duplicate_cluster_of("char", double precision, regclass, integer) IS
	'all members of the cluster that a row is in now, found by the index, including the row; no rows if it is alone';

CREATE FUNCTION near_duplicates_of(body text, threshold double precision DEFAULT NULL, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, k integer DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates_of(text, double precision, regclass, text, integer, anycompatible) IS
	'stored documents similar to a text, most similar first, with keys as text';

CREATE FUNCTION near_duplicates_of(elements anyarray, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, verify text DEFAULT NULL, k integer DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates_of(anyarray, double precision, regclass, text, integer, anycompatible) IS
	'stored documents similar to a set or a signature, most similar first, with keys as text';

CREATE FUNCTION near_duplicates_of(document minlsh_document, threshold double precision DEFAULT NULL,
		index regclass DEFAULT NULL, verify text DEFAULT NULL, k integer DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION near_duplicates_of(minlsh_document, double precision, regclass, text, integer, anycompatible) IS
	'stored documents similar to a document, with its own options and threshold, most similar first, with keys as text';

CREATE FUNCTION nearest_documents_of(body text, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents_of(text, integer, regclass, text, anycompatible) IS
	'the k stored documents most similar to a text, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents_of(elements anyarray, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents_of(anyarray, integer, regclass, text, anycompatible) IS
	'the k stored documents most similar to a set or a signature, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents_of(document minlsh_document, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, scope anycompatible DEFAULT NULL,
		OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents_of' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents_of(minlsh_document, integer, regclass, text, anycompatible) IS
	'the k stored documents most similar to a document with its own options, from the threshold of the index up';

CREATE FUNCTION nearest_documents(key smallint, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents(smallint, integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key integer, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents(integer, integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key bigint, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id bigint, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents(bigint, integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key text, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents(text, integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key anyelement, k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id anyelement, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents(anyelement, integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION nearest_documents(key "char", k integer DEFAULT 10, index regclass DEFAULT NULL,
		verify text DEFAULT NULL, OUT doc_id "char", OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_nearest_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION nearest_documents("char", integer, regclass, text) IS
	'the k documents most similar to a stored one, among those that reach the threshold of the index';

CREATE FUNCTION minlsh_explain(index regclass, a text, b text, threshold double precision DEFAULT NULL,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1;
COMMENT ON FUNCTION minlsh_explain(regclass, text, text, double precision) IS
	'explains why two stored documents are near-duplicates or not: similarity, shingles, equal bands';

CREATE FUNCTION minlsh_explain(index regclass, a anycompatible, b anycompatible,
		threshold double precision DEFAULT NULL,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1;
COMMENT ON FUNCTION minlsh_explain(regclass, anycompatible, anycompatible, double precision) IS
	'explains why two stored documents are near-duplicates or not: similarity, shingles, equal bands';

CREATE FUNCTION minlsh_explain(index regclass, a "char", b "char",
		threshold double precision DEFAULT NULL,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain' LANGUAGE C STABLE PARALLEL RESTRICTED COST 10000 ROWS 1;
COMMENT ON FUNCTION minlsh_explain(regclass, "char", "char", double precision) IS
	'explains why two stored documents are near-duplicates or not: similarity, shingles, equal bands';

CREATE FUNCTION minlsh_explain(a "any", b "any",
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain_without_index' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION minlsh_explain("any", "any") IS 'refuses two keys without an index, and shows the right call';

CREATE FUNCTION minlsh_explain_texts(a text, b text, threshold double precision DEFAULT 0.8,
		shingle_size integer DEFAULT 5, unit text DEFAULT 'char', normalization text DEFAULT 'auto',
		stop_words text DEFAULT 'english', bag boolean DEFAULT false, num_perm integer DEFAULT 128,
		scheme text DEFAULT 'fss', seed bigint DEFAULT 0, recall double precision DEFAULT 0.99,
		OUT jaccard double precision, OUT estimate double precision, OUT estimate_error double precision,
		OUT containment_a double precision, OUT containment_b double precision,
		OUT shingles_a bigint, OUT shingles_b bigint, OUT shared bigint,
		OUT some_shared text[], OUT some_only_a text[], OUT some_only_b text[],
		OUT bands integer[], OUT probability double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_explain_texts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000 ROWS 1;
COMMENT ON FUNCTION minlsh_explain_texts(text, text, double precision, integer, text, text, text, boolean, integer,
		text, bigint, double precision) IS
	'minlsh_explain() of two texts that need not be stored, by the options of an index or of a whole-corpus job';

CREATE FUNCTION minlsh_recall(source text DEFAULT NULL, threshold double precision DEFAULT NULL,
		sample integer DEFAULT 1000, verify text DEFAULT NULL, sample_seed bigint DEFAULT 0,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, wanted_recall double precision DEFAULT NULL,
		OUT similarity_from double precision, OUT similarity_to double precision,
		OUT sampled bigint, OUT documents bigint, OUT pairs bigint, OUT pairs_found bigint,
		OUT recall double precision, OUT recall_low double precision, OUT recall_high double precision,
		OUT returned bigint,
		OUT "precision" double precision, OUT precision_low double precision, OUT precision_high double precision,
		OUT copies bigint, OUT copies_found bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_recall' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 5;
COMMENT ON FUNCTION minlsh_recall(text, double precision, integer, text, bigint, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision) IS
	'measures how much an index or a whole-corpus job finds: compares a sample exactly with all documents';

CREATE FUNCTION minlsh_options(index regclass) RETURNS jsonb
	AS 'MODULE_PATHNAME', 'minlsh_options' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION minlsh_options(regclass) IS 'options with which an index was built';

CREATE FUNCTION minlsh_describe(index regclass, OUT storage regclass, OUT relation regclass, OUT kind text,
		OUT key smallint, OUT body smallint, OUT valid boolean, OUT options jsonb, OUT reindex_reason text,
		OUT queued bigint, OUT queued_since timestamptz) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_describe' LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION minlsh_describe(regclass) IS 'properties of an index that the view minlsh_indexes shows';

CREATE FUNCTION minlsh_warn_reindex() RETURNS bigint
	AS 'MODULE_PATHNAME', 'minlsh_warn_reindex' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION minlsh_warn_reindex() IS
	'warns of indexes that another version has built and this one cannot use; returns their number';

CREATE VIEW minlsh_indexes AS
	SELECT d.storage AS index, d.relation, d.kind, k.attname AS key,
		CASE WHEN d.kind OPERATOR(pg_catalog.=) 'index' THEN pg_catalog.pg_get_indexdef(x.indexrelid, d.body, true)
			ELSE b.attname::pg_catalog.text END AS body,
		s.columns AS scope, pg_catalog.pg_get_expr(x.indpred, x.indrelid, true) AS predicate,
		o.threshold, o.recall, o.bands, o.rows_per_band,
		lsh_probability(o.threshold, o.bands, o.rows_per_band) AS recall_at_threshold,
		d.options, d.valid, d.reindex_reason IS NOT NULL AS needs_reindex, d.reindex_reason,
		CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'I' THEN
				(SELECT pg_catalog.sum(pg_catalog.pg_relation_size(t.relid))::pg_catalog.int8
				FROM pg_catalog.pg_partition_tree(d.storage) AS t)
			ELSE pg_catalog.pg_total_relation_size(d.storage) END AS size,
		d.queued, d.queued_since
	FROM pg_catalog.pg_index AS x
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) x.indexrelid
		JOIN pg_catalog.pg_am AS m ON m.oid OPERATOR(pg_catalog.=) c.relam
		CROSS JOIN LATERAL minlsh_describe(c.oid::pg_catalog.regclass) AS d
		CROSS JOIN LATERAL (SELECT (d.options OPERATOR(pg_catalog.->>) 'threshold')::pg_catalog.float8,
			(d.options OPERATOR(pg_catalog.->>) 'recall')::pg_catalog.float8,
			(d.options OPERATOR(pg_catalog.->>) 'bands')::pg_catalog.int4,
			(d.options OPERATOR(pg_catalog.->>) 'rows')::pg_catalog.int4) AS o(threshold, recall, bands, rows_per_band)
		LEFT JOIN LATERAL (SELECT pg_catalog.array_agg(pg_catalog.pg_get_indexdef(x.indexrelid, n, true) ORDER BY n)
			FROM pg_catalog.generate_series(1, x.indnkeyatts) AS n
				JOIN pg_catalog.pg_opclass AS p ON p.oid OPERATOR(pg_catalog.=) x.indclass[n OPERATOR(pg_catalog.-) 1]
			WHERE d.kind OPERATOR(pg_catalog.=) 'index' AND n OPERATOR(pg_catalog.<>) d.body
				AND p.opcintype OPERATOR(pg_catalog.<>) ALL ('{pg_catalog.anyrange,pg_catalog.anymultirange}'::pg_catalog.regtype[])
			) AS s(columns) ON true
		LEFT JOIN pg_catalog.pg_attribute AS k
			ON k.attrelid OPERATOR(pg_catalog.=) d.relation AND k.attnum OPERATOR(pg_catalog.=) d.key
		LEFT JOIN pg_catalog.pg_attribute AS b
			ON b.attrelid OPERATOR(pg_catalog.=) d.relation AND b.attnum OPERATOR(pg_catalog.=) d.body
	WHERE m.amname OPERATOR(pg_catalog.=) 'minlsh' AND NOT c.relispartition
		AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace) AND d.storage IS NOT NULL;
COMMENT ON VIEW minlsh_indexes IS 'minlsh indexes and side tables: columns, options as built, size in bytes';
GRANT SELECT ON minlsh_indexes TO PUBLIC;

-- whole corpus
--
-- A source is the name of a table, view or index, or the text of a query: key first, then a text, an array or a
-- signature. Options that are NULL are those of the index, or the defaults of minhash().

CREATE FUNCTION near_duplicate_pairs(source text, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact',
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL, boilerplate text DEFAULT NULL,
		apart text DEFAULT NULL, agree text DEFAULT NULL, copies text DEFAULT 'all',
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_pairs' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_pairs(text, double precision, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision, text, text, text, text) IS
	'all pairs of documents at least as similar as the threshold, each once, the lower key first';

CREATE FUNCTION near_duplicate_clusters(source text, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact', linkage text DEFAULT 'single',
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL, boilerplate text DEFAULT NULL,
		apart text DEFAULT NULL, agree text DEFAULT NULL,
		OUT doc_id minlsh_key, OUT cluster_id minlsh_key, OUT similarity double precision, OUT size bigint,
		OUT weakest_link double precision, OUT least_similar double precision, OUT least_is_exact boolean)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_clusters' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_clusters(text, double precision, text, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision, text, text, text) IS
	'members of clusters of verified pairs, with each member''s similarity to the representative';

CREATE FUNCTION near_duplicate_bridges(source text, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact',
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL, boilerplate text DEFAULT NULL,
		apart text DEFAULT NULL, agree text DEFAULT NULL,
		OUT cluster_id minlsh_key, OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision,
		OUT size_a bigint, OUT size_b bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_bridges' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000;
COMMENT ON FUNCTION near_duplicate_bridges(text, double precision, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision, text, text, text) IS
	'pairs without which a cluster would fall in two, and the sizes of its parts';

CREATE FUNCTION near_duplicate_plan(source text, threshold double precision DEFAULT NULL,
		keep text DEFAULT NULL, verify text DEFAULT 'exact',
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL, boilerplate text DEFAULT NULL,
		apart text DEFAULT NULL, agree text DEFAULT NULL,
		OUT doc_id minlsh_key, OUT kept_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_plan' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_plan(text, double precision, text, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision, text, text, text) IS
	'documents to remove so that no near-duplicates remain, and those kept by the ORDER BY list keep';

CREATE FUNCTION near_duplicate_boilerplate(source text, boilerplate text,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL,
		OUT doc_id minlsh_key, OUT origin text, OUT judged_by integer, OUT level double precision,
		OUT shingles bigint, OUT counted bigint, OUT by_equality boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_boilerplate'
	LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicate_boilerplate(text, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint) IS
	'how much of each document a job with boilerplate compares, and the level of its origin';

-- PostgreSQL does not cast a regclass to text by itself.
CREATE FUNCTION near_duplicate_pairs(source regclass, threshold double precision DEFAULT NULL,
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_source_as_regclass' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_pairs(regclass, double precision) IS
	'refuses a regclass as source, and shows how to pass its name';

CREATE FUNCTION near_duplicate_clusters(source regclass, threshold double precision DEFAULT NULL,
		OUT doc_id minlsh_key, OUT cluster_id minlsh_key, OUT similarity double precision, OUT size bigint,
		OUT weakest_link double precision, OUT least_similar double precision, OUT least_is_exact boolean)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_source_as_regclass' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_clusters(regclass, double precision) IS
	'refuses a regclass as source, and shows how to pass its name';

CREATE FUNCTION near_duplicate_bridges(source regclass, threshold double precision DEFAULT NULL,
		OUT cluster_id minlsh_key, OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision,
		OUT size_a bigint, OUT size_b bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_source_as_regclass' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_bridges(regclass, double precision) IS
	'refuses a regclass as source, and shows how to pass its name';

CREATE FUNCTION near_duplicate_plan(source regclass, threshold double precision DEFAULT NULL,
		OUT doc_id minlsh_key, OUT kept_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_source_as_regclass' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_plan(regclass, double precision) IS
	'refuses a regclass as source, and shows how to pass its name';

-- Calls in another order, which PostgreSQL would only report as unknown functions. Their arguments have names that no
-- right call passes.
CREATE FUNCTION near_duplicate_pairs(number numeric, relation regclass,
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_threshold_first' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_pairs(numeric, regclass) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicate_clusters(number numeric, relation regclass,
		OUT doc_id minlsh_key, OUT cluster_id minlsh_key, OUT similarity double precision, OUT size bigint,
		OUT weakest_link double precision, OUT least_similar double precision, OUT least_is_exact boolean)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_threshold_first' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_clusters(numeric, regclass) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicate_bridges(number numeric, relation regclass,
		OUT cluster_id minlsh_key, OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision,
		OUT size_a bigint, OUT size_b bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_threshold_first' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_bridges(numeric, regclass) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicate_plan(number numeric, relation regclass,
		OUT doc_id minlsh_key, OUT kept_id minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_threshold_first' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicate_plan(numeric, regclass) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION near_duplicates_between(a text, b text, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact',
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL, boilerplate text DEFAULT NULL,
		apart text DEFAULT NULL, agree text DEFAULT NULL, copies text DEFAULT 'all',
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicates_between' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION near_duplicates_between(text, text, double precision, text, text, text, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision, text, text, text, text) IS
	'all pairs of documents of two sources at least as similar as the threshold';

CREATE FUNCTION near_duplicates_between(first regclass, number numeric, second regclass,
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_threshold_between' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION near_duplicates_between(regclass, numeric, regclass) IS
	'refuses a call in the wrong order, and shows the right one';

CREATE FUNCTION minlsh_suggest(source text, body text DEFAULT NULL, sample integer DEFAULT 1000,
		sample_seed bigint DEFAULT 0, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL,
		OUT item text, OUT value text, OUT documents bigint, OUT share double precision, OUT explanation text)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_suggest' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 25;
COMMENT ON FUNCTION minlsh_suggest(text, text, integer, bigint, text, text, integer, text, text, text, boolean) IS
	'which threshold and options suit a source: similarities of a sample, shares of copies';

CREATE FUNCTION minlsh_label_pairs(source text, body text DEFAULT NULL, decided text DEFAULT NULL,
		pairs integer DEFAULT 20, lowest double precision DEFAULT 0.1, other text DEFAULT NULL,
		sample integer DEFAULT 1000, sample_seed bigint DEFAULT 0, key_column text DEFAULT NULL,
		scope text DEFAULT NULL, shingle_size integer DEFAULT NULL, unit text DEFAULT NULL,
		normalization text DEFAULT NULL, stop_words text DEFAULT NULL, bag boolean DEFAULT NULL,
		OUT doc_a minlsh_key, OUT doc_b minlsh_key, OUT similarity double precision,
		OUT text_a text, OUT text_b text, OUT difference text)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_label_pairs' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 20;
COMMENT ON FUNCTION minlsh_label_pairs(text, text, text, integer, double precision, text, integer, bigint, text, text,
	integer, text, text, text, boolean) IS
	'pairs of documents for a person to label as the same or different';

CREATE FUNCTION minlsh_suggest_from_labels(source text, decided text, body text DEFAULT NULL,
		wanted_precision double precision DEFAULT NULL, lowest double precision DEFAULT 0.1, other text DEFAULT NULL,
		sample integer DEFAULT 1000, sample_seed bigint DEFAULT 0, key_column text DEFAULT NULL,
		scope text DEFAULT NULL, shingle_size integer DEFAULT NULL, unit text DEFAULT NULL,
		normalization text DEFAULT NULL, stop_words text DEFAULT NULL, bag boolean DEFAULT NULL,
		OUT item text, OUT value text, OUT low double precision, OUT high double precision, OUT explanation text)
		RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_suggest_from_labels' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10;
COMMENT ON FUNCTION minlsh_suggest_from_labels(text, text, text, double precision, double precision, text, integer,
	bigint, text, text, integer, text, text, text, boolean) IS
	'the threshold that labelled pairs mean, with its precision and recall';

CREATE FUNCTION near_duplicate_cluster(body text, threshold double precision DEFAULT NULL, verify text DEFAULT 'exact',
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL) RETURNS bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster' LANGUAGE C WINDOW STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION near_duplicate_cluster(text, double precision, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision) IS
	'window function: the cluster of near-duplicates of a text, named by the number of its first row in the partition';

CREATE FUNCTION near_duplicate_cluster(document anyarray, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact',
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL) RETURNS bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster' LANGUAGE C WINDOW STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION near_duplicate_cluster(anyarray, double precision, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision) IS
	'window function: the cluster of a set, named by the number of its first row';

CREATE FUNCTION near_duplicate_cluster(document minlsh_document, threshold double precision DEFAULT NULL,
		verify text DEFAULT 'exact',
		shingle_size integer DEFAULT NULL, unit text DEFAULT NULL, normalization text DEFAULT NULL,
		stop_words text DEFAULT NULL, bag boolean DEFAULT NULL, num_perm integer DEFAULT NULL, scheme text DEFAULT NULL,
		seed bigint DEFAULT NULL, recall double precision DEFAULT NULL) RETURNS bigint
	AS 'MODULE_PATHNAME', 'minlsh_near_duplicate_cluster' LANGUAGE C WINDOW STABLE PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION near_duplicate_cluster(minlsh_document, double precision, text,
	integer, text, text, text, boolean, integer, text, bigint, double precision) IS
	'window function: the cluster of a document, read with its own options, named by the number of its first row';

-- tracked clusters

CREATE FUNCTION minlsh_capture() RETURNS trigger
	AS 'MODULE_PATHNAME', 'minlsh_capture' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_capture() IS
	'trigger function that notes written rows for tracked clusters; minlsh_track_clusters() creates the triggers';

CREATE FUNCTION minlsh_track_clusters(index regclass, threshold double precision DEFAULT NULL,
		name name DEFAULT NULL, schema name DEFAULT NULL) RETURNS regclass
	AS 'MODULE_PATHNAME', 'minlsh_track_clusters' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_track_clusters(regclass, double precision, name, name) IS
	'creates tables and triggers for clusters of an index with ids that stay; returns the table of members';

CREATE FUNCTION minlsh_refresh_clusters(tracked regclass, "full" boolean DEFAULT false,
		OUT changed bigint, OUT joined bigint, OUT removed bigint, OUT moved bigint, OUT clusters bigint,
		OUT was_full boolean, OUT last_seq bigint) RETURNS record
	AS 'MODULE_PATHNAME', 'minlsh_refresh_clusters' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_refresh_clusters(regclass, boolean) IS
	'brings tracked clusters up to date and logs the changes';

CREATE FUNCTION minlsh_untrack_clusters(tracked regclass) RETURNS void
	AS 'MODULE_PATHNAME', 'minlsh_untrack_clusters' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION minlsh_untrack_clusters(regclass) IS
	'drops the tables of tracked clusters, and their triggers';

-- progress

CREATE FUNCTION minlsh_running_jobs(OUT pid integer, OUT datid oid, OUT relid oid, OUT phase text,
		OUT documents_read bigint, OUT documents_estimated bigint, OUT candidates bigint, OUT compared bigint,
		OUT spilled_bytes bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_running_jobs' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION minlsh_running_jobs() IS 'running whole-corpus jobs, as the view minlsh_progress shows them';

CREATE VIEW minlsh_progress AS
	SELECT j.pid, j.datid, d.datname, j.relid, j.phase, j.documents_read, j.documents_estimated, j.candidates,
		j.compared, j.spilled_bytes
	FROM minlsh_running_jobs() AS j LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) j.datid;
COMMENT ON VIEW minlsh_progress IS 'progress of the whole-corpus jobs that run now, in all databases';
GRANT SELECT ON minlsh_progress TO PUBLIC;

-- passages of a whole corpus
--
-- Sources and keys are those of near_duplicate_pairs(). Arguments that are NULL are the defaults.

CREATE FUNCTION common_passages(source text, min_documents integer DEFAULT 100,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		min_match integer DEFAULT 50, normalization text DEFAULT 'plain',
		OUT documents bigint, OUT passage_length integer, OUT passage text,
		OUT doc_id minlsh_key, OUT passage_from integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_common_passages' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION common_passages(text, integer, text, text, text, integer, text) IS
	'passages that at least min_documents documents have in common, each with the first document that has it';

CREATE FUNCTION strip_passages(source text, min_documents integer DEFAULT 100,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		min_match integer DEFAULT 50, normalization text DEFAULT 'plain',
		OUT doc_id minlsh_key, OUT body text, OUT removed integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_strip_passages' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION strip_passages(text, integer, text, text, text, integer, text) IS
	'texts without the passages of common_passages(), and the number of characters removed';

CREATE FUNCTION repeated_passages(source text, min_match integer DEFAULT 50,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		normalization text DEFAULT 'plain',
		OUT doc_id minlsh_key, OUT passage_from integer, OUT passage_length integer,
		OUT of_doc_id minlsh_key, OUT of_from integer) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_repeated_passages' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION repeated_passages(text, integer, text, text, text, text) IS
	'passages of each document that an earlier one by key has, with the first place where they are';

CREATE FUNCTION contained_documents(source text, coverage double precision DEFAULT 0.9,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		min_match integer DEFAULT 50, normalization text DEFAULT 'plain',
		OUT doc_id minlsh_key, OUT container_id minlsh_key,
		OUT coverage double precision, OUT containers bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_contained_documents' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION contained_documents(text, double precision, text, text, text, integer, text) IS
	'documents that other documents contain, with the longest of these and their number';

CREATE FUNCTION passages_between(a text, b text, min_match integer DEFAULT 50,
		coverage double precision DEFAULT NULL, max_documents integer DEFAULT 100,
		body text DEFAULT NULL, key_column text DEFAULT NULL, scope text DEFAULT NULL,
		normalization text DEFAULT 'plain',
		OUT a_id minlsh_key, OUT b_id minlsh_key, OUT a_from integer, OUT a_length integer,
		OUT b_from integer, OUT b_length integer, OUT passage text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_passages_between' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000 ROWS 10000;
COMMENT ON FUNCTION passages_between(text, text, integer, double precision, integer,
	text, text, text, text) IS
	'passages that documents of two sources have in common, with their places in both';

-- A share in the place of `min_match`, for which PostgreSQL would find no function.
CREATE FUNCTION passages_between(a regclass, b regclass, share numeric,
		OUT a_id minlsh_key, OUT b_id minlsh_key, OUT a_from integer, OUT a_length integer,
		OUT b_from integer, OUT b_length integer, OUT passage text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'minlsh_share_of_passages' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1 ROWS 1;
COMMENT ON FUNCTION passages_between(regclass, regclass, numeric) IS
	'refuses a coverage in the place of min_match, and shows the right call';
