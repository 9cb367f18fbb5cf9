-- What the extension puts into the catalog.

CREATE TEMP VIEW members AS
SELECT p.* FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'minlsh'
JOIN pg_proc AS p ON p.oid = d.objid WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e';

-- Every function says what it is, how it may be planned, and what it costs.
SELECT oid::regprocedure AS function, provolatile AS volatile, proparallel AS parallel, proisstrict AS strict, procost AS cost
FROM members ORDER BY oid::regprocedure::text COLLATE "C";
SELECT oid::regprocedure AS uncommented FROM members WHERE obj_description(oid, 'pg_proc') IS NULL;

-- None runs with the rights of its definer.
SELECT oid::regprocedure FROM members WHERE prosecdef;

-- Everybody may look; nobody may change what is there.
SELECT c.relname, r.grantee, r.privilege_type
FROM pg_class AS c, aclexplode(c.relacl) AS r WHERE c.relname IN ('minlsh_registry', 'minlsh_indexes') AND r.grantee = 0
ORDER BY 1, 3;

-- The library that is loaded belongs to the scripts that were run.
SELECT minlsh_version() = extversion AS same_version, extrelocatable FROM pg_extension WHERE extname = 'minlsh';
DROP VIEW members;
