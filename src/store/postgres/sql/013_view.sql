-- The records for people. What can't be read is shown as that.
CREATE VIEW onceguard.keys AS
SELECT
  onceguard.readable_text(r.key) AS key,
  onceguard.readable_text(r.scope_kind) AS scope_kind,
  encode(r.scope, 'hex') AS scope,
  CASE WHEN NOT onceguard.readable(r) THEN 'unreadable'
       ELSE (ARRAY['started', 'in_progress', 'probing', 'completed', 'failed', 'released',
                   'unknown'])[onceguard.observed(r.state, r.deadline_at, c.now)] END AS state,
  r.attempt,
  r.token,
  onceguard.readable_text(r.method) AS method,
  onceguard.readable_text(r.path) AS path,
  to_timestamp(r.claimed_at / 1000.0) AS claimed_at,
  CASE WHEN r.state <= 3 THEN to_timestamp(r.deadline_at / 1000.0) END AS lease_until,
  CASE WHEN r.settled_at > 0 THEN to_timestamp(r.settled_at / 1000.0) END AS settled_at,
  CASE WHEN r.expires_at > 0 THEN to_timestamp(r.expires_at / 1000.0) END AS expires_at,
  CASE WHEN r.retry_at > 0 THEN to_timestamp(r.retry_at / 1000.0) END AS retry_at,
  (ARRAY['holder-gone', 'upstream-status', 'upstream-timeout', 'upstream-broken', 'upgraded',
         'abandoned', 'probe-inconclusive'])[nullif(r.why, 0)] AS why,
  nullif(r.why_status, 0) AS why_status,
  r.status,
  onceguard.readable_texts(r.headers) AS headers,
  length(r.body) AS body_length,
  r.step,
  r.by_operator,
  r.by_application,
  r.incident,
  r.maybe_repeated,
  encode(r.digest, 'hex') AS record
FROM (SELECT onceguard.now_ms() AS now) c, onceguard.records r
WHERE NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, c.now, false);
COMMENT ON VIEW onceguard.keys IS 'Every live record, for people; the store itself reads none of it';
