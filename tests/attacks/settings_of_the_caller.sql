-- Settings of the attacker's that a function of minlsh may depend on, and functions that leave settings behind.
-- Attacker: an ordinary user. Must not: a wrong or internal answer, a role or a setting that stays.

-- as owner:
CREATE TABLE app.docs (id float8 PRIMARY KEY, body text);
INSERT INTO app.docs VALUES (1.00000000001, 'one text'), (1.00000000002, 'one text');
SELECT minlsh_create_side_table('app.docs', 'body');
GRANT SELECT ON app.docs TO attacker;
-- as attacker:
SET extra_float_digits = -15;
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
SET bytea_output = escape;
SET quote_all_identifiers = on;
SET xmloption = document;
SET search_path = '';
SET work_mem = '64kB';
SET temp_tablespaces = '';
-- gives: 1
SELECT count(*) FROM public.near_duplicates(1.00000000001::float8, 0.9, 'app.docs');
-- gives: 1
SELECT count(*) FROM public.near_duplicate_pairs('app.docs', 0.9);
-- gives: 2
SELECT count(*) FROM public.near_duplicate_clusters('app.docs', 0.9);
-- tried
SELECT public.minlsh_recall('app.docs');
-- gives: attacker
SELECT current_user;
-- gives: ""
SHOW search_path;
-- gives: -15
SHOW extra_float_digits;
-- refused
SELECT public.near_duplicates(1::float8, 'NaN', 'app.docs');
-- gives: attacker
SELECT current_user;
SET ROLE attacker;
SET SESSION AUTHORIZATION attacker;
-- tried
SELECT public.near_duplicate_pairs('SET ROLE owner', 0.9);
-- tried
SELECT public.near_duplicate_pairs('SELECT set_config(''search_path'', ''evil'', false)::text, ''x''', 0.9);
-- gives: attacker
SELECT current_user;
