#!/usr/bin/env bash
# upgrade.sh OLD NEW: pg_upgrade from one PostgreSQL to another, both given by their pg_config. A native index, a
# constraint and a side table answer afterwards as before, tracked clusters keep their ids and go on, and minlsh_check
# finds nothing.
old_config=$1 new_config=$2
. "$(dirname "$0")/lib.sh"
forget_connection_settings
new_share=$("$new_config" --sharedir)
[[ $new_share == "$(pg_cache)"/* ]] ||
	die "pg_upgrade looks for libraries in \$libdir, and $new_config is not ours to install into"
clean_up() {
	make -s uninstall PG_CONFIG="$new_config" || true
	remove_run_dir
}
trap clean_up EXIT
make_run_dir upgrade
mkdir "$run_dir/stage"

# cluster NAME PG_CONFIG: makes an empty one.
cluster() {
	local bin flags=(-A trust -N -E UTF8 --no-locale -U "$server_user")
	bin=$("$2" --bindir)
	# From 18 on checksums are the default, and both clusters must have them or not.
	[[ $("$bin/initdb" --help) != *no-data-checksums* ]] || flags+=(--no-data-checksums)
	as_server_user "$bin/initdb" -D "$run_dir/$1" "${flags[@]}" >/dev/null
	cat >>"$run_dir/$1/postgresql.conf" <<-END
		listen_addresses = ''
		unix_socket_directories = '$run_dir'
		fsync = off
	END
}
# server NAME PG_CONFIG start|stop
server() {
	as_server_user "$("$2" --bindir)/pg_ctl" -w -s -D "$run_dir/$1" -l "$run_dir/log.$1" "$3" >/dev/null
}
sql() {
	as_server_user "$("$old_config" --bindir)/psql" -h "$run_dir" -U "$server_user" -qAtX -v ON_ERROR_STOP=1 postgres "$@"
}

cluster old "$old_config"
cluster new "$new_config"
pg_config=$old_config
stage "$run_dir/stage" >>"$run_dir/old/postgresql.conf"
make -s install PG_CONFIG="$new_config" DESTDIR= >&2
chmod -R a+rX "$run_dir/stage"

answers="
	SET enable_seqscan = off;
	SELECT 'index', a.id, b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, 0.8) ORDER BY 2, 3;
	SELECT 'side table', doc_a, doc_b FROM near_duplicate_pairs('papers', 0.8) ORDER BY 2, 3;
	SELECT 'constraint', count(*) FROM kept;
	SELECT 'member', doc_id, cluster_id FROM docs_clusters ORDER BY 2;
	SELECT 'log', max(seq), max(refresh) FROM docs_clusters_log;
	SELECT 'problem', * FROM minlsh_check();"
server old "$old_config" start
sql <<-END
	CREATE EXTENSION minlsh;
	CREATE TABLE docs (id int PRIMARY KEY, body text);
	INSERT INTO docs SELECT i, string_agg(md5(CASE WHEN w < i % 4 THEN i ELSE i / 4 END || ' ' || w), ' ')
	FROM generate_series(1, 400) AS i, generate_series(1, 30) AS w GROUP BY i;
	CREATE INDEX ON docs USING minlsh (body);
	CREATE TABLE papers (LIKE docs INCLUDING INDEXES);
	INSERT INTO papers SELECT * FROM docs;
	SELECT minlsh_create_side_table('papers', 'body');
	CREATE TABLE kept (body text, EXCLUDE USING minlsh (minlsh_document(body) WITH ~=));
	INSERT INTO kept SELECT body FROM docs ON CONFLICT DO NOTHING;
	SELECT minlsh_track_clusters('docs_body_idx') \gset
	SELECT FROM minlsh_refresh_clusters('docs_clusters');
	DELETE FROM docs WHERE id % 7 = 0;
	SELECT FROM minlsh_refresh_clusters('docs_clusters');
	VACUUM docs;
END
sql -c "$answers" >"$run_dir/before"
[ "$(grep -c '^member' "$run_dir/before")" -gt 100 ] || die "there are clusters"
server old "$old_config" stop
as_server_user sh -c "cd '$run_dir' && '$("$new_config" --bindir)/pg_upgrade' -b '$("$old_config" --bindir)' \
	-B '$("$new_config" --bindir)' -d old -D new -U '$server_user' -s '$run_dir'" >"$run_dir/output" || {
	cat "$run_dir/output" "$run_dir"/new/pg_upgrade_output.d/*/*.txt "$run_dir"/new/pg_upgrade_output.d/*/log/*.log >&2
	die "pg_upgrade"
}
server new "$new_config" start
sql -c "$answers" >"$run_dir/after"
[ "$(grep -c '^index' "$run_dir/before")" -gt 300 ] || die "there is something to be found"
diff "$run_dir/before" "$run_dir/after" || die "answers differ"
# Files and catalogs are new: a refresh looks at all documents, and changes nothing.
refreshed=$(sql -c "SELECT was_full, joined, removed, moved FROM minlsh_refresh_clusters('docs_clusters')")
[ "$refreshed" = "t|0|0|0" ] || die "the first refresh: $refreshed"
sql <<-END
	INSERT INTO docs SELECT id + 1000, body FROM docs;
	INSERT INTO papers SELECT id + 1000, body FROM papers;
	INSERT INTO kept SELECT body FROM docs ON CONFLICT DO NOTHING;
	UPDATE docs SET body = 'another text' WHERE id % 5 = 1;
	VACUUM docs;
END
refreshed=$(sql -c "SELECT changed, was_full FROM minlsh_refresh_clusters('docs_clusters')")
[[ $refreshed != 0* ]] || die "nothing was captured: $refreshed"
problems=$(sql -c "SELECT * FROM minlsh_check(); SELECT * FROM minlsh_check('docs_clusters')")
[ -z "$problems" ] || die "after changes: $problems"
server new "$new_config" stop
say "$("$old_config" --version) to $("$new_config" --version): $(grep -c . "$run_dir/before") answers are the same"
