-- An internal error, also where it is caught.

-- as superuser:
DO $$ BEGIN RAISE SQLSTATE 'XX000' USING MESSAGE = 'of this kind'; END $$;
