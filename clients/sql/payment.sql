-- Charges once for each key, however often it is run:
--   psql -v customer=customer-7 -v key=order-17 -v amount=1000 -f payment.sql postgresql:///shop
-- The table: CREATE TABLE charges (customer text, amount integer)
\set ON_ERROR_STOP on
\set QUIET on
\pset tuples_only on
\pset format unaligned
BEGIN;
SELECT verdict, verdict = 'run' AS run, verdict = 'replay' AS replay, lease,
       convert_from(body, 'UTF8') AS answer
  FROM onceguard.claim(:'customer', :'key', convert_to(:'amount', 'UTF8'), wait => true) \gset
\if :run
  INSERT INTO charges (customer, amount) VALUES (:'customer', :'amount');
  SELECT json_build_object('charged', :'amount'::integer)::text AS answer \gset
  SELECT onceguard.complete(:'lease', 201, body => convert_to(:'answer', 'UTF8')) AS completed \gset
  COMMIT;
  \echo :answer
\elif :replay
  COMMIT;
  \echo :answer
\else
  ROLLBACK;
  \warn not charged: :verdict
\endif
