DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'onceguard.records'::regclass
                 AND t.tgname = 'records_are_gone') THEN
    CREATE TRIGGER records_are_gone AFTER TRUNCATE ON onceguard.records
      FOR EACH STATEMENT EXECUTE FUNCTION onceguard.begin_another_memory();
    -- Also while data is loaded with its triggers off.
    ALTER TABLE onceguard.records ENABLE ALWAYS TRIGGER records_are_gone;
    CREATE CONSTRAINT TRIGGER check_settled AFTER INSERT ON onceguard.must_settle
      DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION onceguard.check_settled();
    CREATE TRIGGER begin_epoch BEFORE UPDATE OF forgotten ON onceguard.meta
      FOR EACH ROW EXECUTE FUNCTION onceguard.begin_epoch();
  END IF;
END
$$;
