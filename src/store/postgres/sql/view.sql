-- The records for people. What can't be read is shown as that.
CREATE OR REPLACE VIEW onceguard.keys AS
SELECT
  onceguard.readable_text(s.key) AS key,
  onceguard.readable_text(s.scope_kind) AS scope_kind,
  encode(s.scope, 'hex') AS scope,
  CASE WHEN onceguard.readable(r) THEN onceguard.observed(r.state, r.deadline_at, c.now)
       ELSE 'unreadable' END AS state,
  coalesce(r.attempt, 1) AS attempt,
  r.token,
  onceguard.readable_text(s.method) AS method,
  onceguard.readable_text(s.path) AS path,
  onceguard.moment(coalesce(r.claimed_at, r.token / 1000)) AS claimed_at,
  CASE WHEN r.state <= 'probing' THEN onceguard.moment(r.deadline_at) END AS lease_until,
  CASE WHEN r.state > 'probing' THEN onceguard.moment(r.deadline_at) END AS settled_at,
  CASE WHEN r.expires_at > 0 THEN onceguard.moment(r.expires_at) END AS expires_at,
  onceguard.moment(r.retry_at) AS retry_at,
  (ARRAY['holder-gone', 'upstream-status', 'upstream-timeout', 'upstream-broken', 'upgraded',
         'abandoned', 'probe-inconclusive'])[r.why] AS why,
  r.why_status,
  o.status,
  onceguard.readable_texts(o.headers) AS headers,
  length(o.body) AS body_length,
  r.step,
  coalesce(r.flags, 0) & 1 > 0 AS by_operator,
  coalesce(r.flags, 0) & 16 > 0 AS by_application,
  coalesce(r.flags, 0) & 2 > 0 AS incident,
  coalesce(r.flags, 0) & 4 > 0 AS maybe_repeated,
  encode(r.digest, 'hex') AS record
FROM (SELECT onceguard.now_ms() AS now) c, onceguard.records r
CROSS JOIN LATERAL onceguard.read_subject(r.subject) s
CROSS JOIN LATERAL onceguard.read_outcome(r.outcome) o
WHERE NOT onceguard.expired(r.state, r.deadline_at, r.expires_at, c.now, false);
COMMENT ON VIEW onceguard.keys IS 'Every live record, for people; the store itself reads none of it';
