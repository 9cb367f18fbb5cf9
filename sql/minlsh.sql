CREATE FUNCTION minlsh_version() RETURNS text
	AS 'MODULE_PATHNAME', 'minlsh_version_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION minlsh_version() IS 'version of the minlsh library that is loaded';
