-- A backend that dies.

-- as owner:
SELECT 1;
-- as superuser:
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'owner';
-- as owner:
-- tried
SELECT 1;
SELECT 1;
