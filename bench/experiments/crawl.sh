#!/usr/bin/env bash
# What the steps of docs/how-to/crawl-to-corpus.md cost: `crawl.sh DATABASE [PAGES]` makes a crawl of so many pages
# (100,000) of 2.5 kB on 200 sites in a database of a server on this machine, takes the steps, and prints the processor
# time of the session for each. It needs the extension, and leaves nothing in the database.
pages=${2:-100000}
. "$(dirname "$0")/session.sh" "$1"
step() { # what, SQL
	taken "$2"
	printf '| %s | %.1f s | %s |\n' "$1" "$seconds" "$answer"
}

run "BEGIN; SET max_parallel_workers_per_gather = 0; SET client_min_messages = error;
	CREATE FUNCTION words(of text, n integer) RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(md5(of || ' ' || i), ' ') FROM generate_series(1, n) AS i);
	CREATE TABLE crawl (id bigint PRIMARY KEY, site integer, body text);
	-- Half of the pages print an article that another site has, too. Every tenth is a roundup of parts of ten others.
	INSERT INTO crawl SELECT i, site, words('menu ' || site, 10) || ' ' || CASE WHEN i % 10 = 0
			THEN (SELECT string_agg(words('article ' || (i + o * 7919) % ($pages / 2), 6), ' ')
				FROM generate_series(1, 10) AS o)
			ELSE words('article ' || i % ($pages / 2), 60) END || ' ' || words('footer ' || site, 6)
	FROM (SELECT i, (i * 7 + i / ($pages / 2) * 3) % 200 AS site FROM generate_series(1, $pages) AS i) AS s;
	ANALYZE crawl;
	SELECT count(*) || ' pages, ' || pg_size_pretty(sum(length(body))) FROM crawl"
echo "$answer, $(machine)"
step "read all texts: \`sum(length(body))\`" "SELECT pg_size_pretty(sum(length(body))) FROM crawl"
step "1. the plan, with \`boilerplate\`" "CREATE TABLE removed AS SELECT doc_id::bigint AS id
	FROM near_duplicate_plan('crawl', 0.8, body => 'body', boilerplate => 'site');
	SELECT count(*) || ' to remove' FROM removed"
run "DELETE FROM crawl WHERE id IN (SELECT id FROM removed); SELECT 1"
step "2. \`strip_passages\`" "CREATE TABLE texts AS SELECT doc_id::bigint AS id, body
	FROM strip_passages('crawl', 100, body => 'body'); SELECT count(*) || ' texts' FROM texts"
step "3. \`passages_between\` and 1,000 questions" "CREATE TABLE questions AS
	SELECT i AS id, words('article ' || i * 31, 5) AS question FROM generate_series(1, 1000) AS i;
	SELECT count(*) || ' texts have a question'
	FROM passages_between('SELECT id, question FROM questions', 'SELECT id, body FROM texts', coverage => 0.8)"
run "CREATE TABLE chunks AS SELECT row_number() OVER () AS id, substr(body, 198 * part + 1, 197) AS body
	FROM texts, generate_series(0, length(body) / 198) AS part; SELECT 1"
step "4. the plan of the chunks" "SELECT (SELECT count(*) FROM chunks) || ' chunks, ' || count(*) || ' need no vector'
	FROM near_duplicate_plan('SELECT id, body FROM chunks', 0.9)"
run "ROLLBACK; SELECT 1"
