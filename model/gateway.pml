/* Clients that repeat, gateways, one store and one upstream, for one key.
 *
 * -DPOLICY=U_hold|U_probe|U_rerun   what a claim does at an unknown outcome
 * -DCRASHES= -DTROUBLES= -DSLEEPS=  how often a process is killed, a message is lost, doubled or comes
 *                                   late, and a holder that lives sleeps beyond its lease
 * -DREFUSALS=                       how often the upstream says that it did nothing, or breaks off
 * -DSTARTED   claims go into `started`, and are dispatched
 * -DOPERATOR  a person looks and resolves      -DFENCE  the upstream refuses earlier tokens
 * -DSWEEP     retentions end, and are swept    -DFLUSH  acts are in memory until a flush
 * -DMISMATCH  the client of the last gateway uses the key for another operation
 * -DSERVICE   who repeats and works are clients of the decision service, whose processes end apart from
 *             theirs (docs/protocol.md): a claim in doubt is sent again, and what it gets is used
 */
#ifndef GATEWAYS
#define GATEWAYS 3
#endif
#ifndef POLICY
#define POLICY U_hold
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef TROUBLES
#define TROUBLES 1
#endif
#ifndef SLEEPS
#define SLEEPS 1
#endif
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifdef STARTED
#define TARGET S_started
#else
#define TARGET S_in_progress
#endif

#include "record.pml"

/* What an upstream's answer says of the effect. */
#define A_none 0
#define A_done 1
#define A_refused 2 /* 4xx, 501, 503: nothing was done */
#define A_broken 3  /* broken off, timed out, 500: nobody knows */

#define NOBODY 99

byte crashes = CRASHES, troubles = TROUBLES, sleeps = SLEEPS, refusals = REFUSALS;
bit late[GATEWAYS];     /* the holder's own clock says that its lease is over: never after the store's */
byte claim_id[GATEWAYS];/* of the present try; another one begins where this one left a trace */
bit has_lease[GATEWAYS];
byte waits_for[GATEWAYS];/* the token under which it has sent a request and waits; 0: none */
byte reply[GATEWAYS];   /* what came back to that */
unsigned in_flight : 14;/* a bit for each token whose request may yet take effect */
bit served[GATEWAYS];   /* the client has a final answer */

byte effects;           /* the upstream's own ledger */
byte last_effect;       /* the highest token that took effect */
byte fence;             /* the upstream refuses smaller tokens */
byte first_answer;      /* what a client was told first: the token of the run that gave it */
byte stray_claim;       /* a claim that is still on its way; 0: none */
bit stray_print;
byte stray_kind;        /* a settle that is still on its way */
byte stray_token;
byte stray_settle_id;

#ifdef MISMATCH
#define OPERATION(me) ((me) == GATEWAYS - 1)
#else
#define OPERATION(me) 0
#endif

#ifdef SERVICE
byte services = 1;        /* how often the service's processes end; others take their calls */
bit unrenewed[GATEWAYS];  /* nobody renews the lease: the connection of its claim is gone */
#endif

/* The durable state behind `r`. With -DFLUSH a write is in memory first, and a restart forgets what no
 * flush has saved: the calls that waited for it are in doubt. */
#ifdef FLUSH
record disk;
byte restarts = 1;
bit unflushed, calling[GATEWAYS], broken[GATEWAYS];
#define DURABLE disk
#define CALL(me) unflushed = 1; calling[me] = 1; broken[me] = 0
#define BROKEN(me) broken[me]
#else
#define DURABLE r
#define CALL(me) skip
#define BROKEN(me) false
#endif
/* Inside an atomic sequence: who waits here lets others go on. */
#ifndef FLUSH
#define REPLY_OF_STORE(me) true
#elif defined(ACKNOWLEDGED_EARLY) /* a control: the store answers before its flush */
#define REPLY_OF_STORE(me) calling[me] = 0
#else
#define REPLY_OF_STORE(me) !unflushed || broken[me] -> calling[me] = 0
#endif

/* A success is told: the first answer of this key, or it again. */
inline tell(me) {
  HOLDS(a_told_success_is_durable, DONE(DURABLE.state));
  HOLDS(the_first_answer_stays, first_answer == 0 || r.answer == 0 || first_answer == r.answer);
  if
  :: r.answer != 0 -> first_answer = r.answer
  :: else /* an operator's completion has none */
  fi;
  served[me] = 1
}

/* The try is over; the next one is another claim. */
#ifdef FLUSH
#define REMEMBERED(id) ((id) == r.claim || (id) == disk.claim || (id) == stray_claim || (id) == stray_settle_id)
#else
#define REMEMBERED(id) ((id) == r.claim || (id) == stray_claim || (id) == stray_settle_id)
#endif
/* Claim ids are random: new is each that stands nowhere. */
inline next_claim(me) {
  d_step {
    claim_id[me] = me + 1;
    do
    :: REMEMBERED(claim_id[me]) -> claim_id[me] = claim_id[me] + GATEWAYS
    :: else -> break
    od;
    has_lease[me] = 0; late[me] = 0
#ifdef SERVICE
    ; unrenewed[me] = 0
#endif
  }
}

/* --- the steps of one try: src/gateway/served_request.cpp --------------------------------------- */

inline took_lease(me) {
  if
  :: result == V_run -> late[me] = r.over; has_lease[me] = 1
  :: else
  fi
}

inline carry_out_claim(me) {
  store_claim(claim_id[me], OPERATION(me), POLICY, TARGET);
  took_lease(me);
  CALL(me)
}
inline read_verdict() {
  verdict = result;
  token = (result == V_run -> r.token : 0);
  result = 0
}

/* The process ends here. Steps between which nothing can be seen from outside are one. */
#define CRASH(me) atomic { crashes > 0 -> crashes--; goto dead }

/* src/engine/claim_attempt.cpp. The store carries the claim out, or it stays on its way, or both (a claim that a
 * reconnect doubled); and its reply may be lost. `verdict` 0: in doubt. */
inline try_claim(me) {
  if
  :: carry_out_claim(me); read_verdict(); REPLY_OF_STORE(me)
  :: troubles > 0 -> troubles--; carry_out_claim(me); result = 0; verdict = 0
  :: troubles > 0 && stray_claim == 0 ->
     troubles--; stray_claim = claim_id[me]; stray_print = OPERATION(me); verdict = 0
  :: troubles > 0 && stray_claim == 0 ->
     troubles--; stray_claim = claim_id[me]; stray_print = OPERATION(me);
     carry_out_claim(me); read_verdict(); REPLY_OF_STORE(me)
  fi;
  verdict = (BROKEN(me) -> 0 : verdict)
}

/* What ends the try at once. */
inline take_verdict(me) {
  if
  :: verdict == 0 || verdict == V_run
  :: verdict == V_mismatch -> served[me] = 1
  :: verdict == V_replay -> tell(me)
  :: verdict == V_refused -> next_claim(me)
#ifdef WAITER_DELETES /* a control: who gives up waiting removes the record */
  :: verdict == V_busy -> written_by(0); r.state = S_absent
#else
  :: verdict == V_busy -> next_claim(me)
#endif
  :: verdict == V_backoff || verdict == V_unknown -> next_claim(me) /* an answered claim is over */
  fi
}

/* follow_up::claim_in_doubt(): the same claim id again, and what it got is released. */
inline follow_up_claim(me) {
  do
  :: atomic {
       carry_out_claim(me); read_verdict(); REPLY_OF_STORE(me);
       if
       :: BROKEN(me) -> verdict = 0
       :: else -> break
       fi }
  :: CRASH(me)
  od;
  kind = K_release
}

/* effect_report.cpp, follow_up::settle(): repeated until the store has taken it. */
inline settle(me) {
  do
  :: atomic {
       store_settle(kind, token, claim_id[me], OPERATION(me)); outcome = result; result = 0;
       CALL(me); REPLY_OF_STORE(me);
       if
       :: BROKEN(me)
       :: else ->
          if
          :: outcome != O_stale && kind == K_complete -> tell(me)
          :: else /* 409, 502, 503, 504: the client comes again */
          fi;
          break
       fi }
  :: atomic { troubles > 0 -> /* carried out, and the reply is lost */
       troubles--; store_settle(kind, token, claim_id[me], OPERATION(me)); result = 0; CALL(me) }
  :: atomic { troubles > 0 && stray_kind == 0 -> /* it comes after its repeat */
       troubles--; stray_kind = kind; stray_token = token; stray_settle_id = claim_id[me] }
  :: CRASH(me)
  od
}

/* held_lease.cpp, begin_sending(): the dispatch is durable before a byte goes out. */
inline dispatch(me) {
  do
  :: atomic {
       store_extend(K_dispatch, token, claim_id[me]); outcome = result; result = 0; CALL(me);
       late[me] = (outcome == O_stale -> late[me] : 0);
       REPLY_OF_STORE(me);
       if
       :: BROKEN(me)
       :: else -> kind = (outcome == O_stale -> K_release : 0); outcome = 0; break
       fi }
  :: CRASH(me)
  od
}

/* src/gateway/probe.cpp: fence, then ask; the application does both in one transaction. */
inline probe(me) {
  if
  :: atomic {
#ifdef FENCE
       fence = (token > fence -> token : fence);
#endif
       if
       :: effects > 0 -> kind = K_complete
       :: effects == 0 -> kind = K_dispatch
       :: troubles > 0 -> troubles--; kind = K_abandon
       fi }
  :: CRASH(me)
  fi;
  if
  :: kind == K_dispatch -> dispatch(me)
  :: else
  fi
}

/* upstream_work.cpp: just before the first byte the holder looks at its own clock. Then it waits until
 * the answer is there, or its time is up. A holder that slept renews when it wakes. */
#ifdef LATE_WORK /* a control: a client that stood still since its claim does not look at its clocks */
#define MAY_BEGIN(me) true
#else
#define MAY_BEGIN(me) !late[me]
#endif
inline send_and_wait(me) {
  if
  :: atomic { late[me] -> kind = K_release } /* a zombie: nothing was sent */
  :: CRASH(me)
  :: atomic { MAY_BEGIN(me) ->
#if POLICY != U_rerun
       HOLDS(no_dispatch_after_an_answer, first_answer == 0);
#endif
       HOLDS(a_mismatch_never_runs, r.token != token || r.print == OPERATION(me));
       in_flight = in_flight | (1 << token); waits_for[me] = token };
     do
     :: atomic { reply[me] == A_done -> kind = K_complete; break }
     :: atomic { reply[me] == A_refused -> kind = K_release; break }
     :: atomic { reply[me] == A_broken -> kind = K_abandon; break }
     :: atomic { reply[me] == A_none && refusals > 0 -> refusals--; kind = K_abandon; break }
     :: atomic { reply[me] == A_none && late[me] ->
          store_extend(K_renew, token, claim_id[me]); outcome = result; result = 0; CALL(me);
          if
          :: outcome == O_stale -> outcome = 0; kind = K_abandon; break
          :: else -> outcome = 0; late[me] = 0
          fi }
     :: CRASH(me)
     od;
     atomic { reply[me] = A_none; waits_for[me] = 0 }
  fi
}

#ifdef SERVICE
/* A client that got its lease late renews before the work, and claims anew where that is refused. */
inline renew_before_the_work(me) {
  if
  :: atomic { late[me] ->
       store_extend(K_renew, token, claim_id[me]); outcome = result; result = 0; CALL(me);
       if
       :: outcome == O_stale -> verdict = 0
       :: else -> late[me] = 0; unrenewed[me] = 0
       fi;
       outcome = 0 }
  :: else
  fi
}
#endif

inline forget() { verdict = 0; token = 0; kind = 0; outcome = 0 }

/* A client that repeats until it has an answer, and the gateway that it comes to. */
proctype gateway(byte me) {
  byte verdict, token, kind, outcome;
again:
  do
  :: atomic { served[me] -> break }
#ifdef READ_THEN_WRITE /* a control: what was read may have changed when the write comes */
  :: atomic { !served[me] && verdict == 0 ->
       verdict = (r.state == S_absent -> V_run : V_busy) };
     atomic {
       if
       :: verdict == V_run -> grant(claim_id[me], OPERATION(me), S_in_progress);
          token = r.token; has_lease[me] = 1
       :: else -> verdict = 0
       fi }
#else
  :: atomic { !served[me] ->
       try_claim(me); take_verdict(me);
       if
#ifndef SERVICE
       :: verdict == 0 -> verdict = V_refused; kind = K_withdraw
#endif
       :: verdict == V_run
       :: else -> verdict = 0
       fi };
#endif
     if
     :: atomic { verdict == 0 -> skip }
     :: kind == K_withdraw -> follow_up_claim(me); /* the client is told 503 */
        if
        :: verdict == V_run -> settle(me)
        :: else
        fi;
        atomic { next_claim(me); forget() }
     :: verdict == V_run && kind == 0 ->
#if POLICY == U_probe
        if
        :: r.state == S_probing && r.token == token -> probe(me)
        :: else
        fi;
#endif
#if defined(SERVICE) && !defined(LATE_WORK)
        renew_before_the_work(me);
        if
        :: verdict == 0 -> atomic { next_claim(me); forget(); goto again }
        :: else
        fi;
#endif
#ifdef STARTED
        if
        :: kind == 0 -> dispatch(me)
        :: else
        fi;
#endif
        if
        :: kind == 0 -> send_and_wait(me)
        :: else
        fi;
        settle(me);
        atomic { next_claim(me); forget() }
     fi
  od;
  goto over;
dead:
  atomic { reply[me] = A_none; waits_for[me] = 0; next_claim(me); forget() };
  goto again;
over:
  skip
}

/* --- the world ---------------------------------------------------------------------------------- */

inline answer_to(its_token, what) {
  i = 0;
  do
  :: i < GATEWAYS && waits_for[i] == its_token -> reply[i] = what; break
  :: i < GATEWAYS && waits_for[i] != its_token -> i++
  :: i == GATEWAYS -> break /* nobody waits any more */
  od;
  i = 0
}

inline take_effect(its_token) {
#ifdef FENCE
  fence = its_token;
#endif
  HOLDS(no_effect_after_a_newer_one, its_token >= last_effect);
  effects++;
  last_effect = its_token;
#ifdef MORE_THAN_ONCE
  effects = (effects > 2 -> 2 : effects)
#else
  HOLDS(at_most_once, effects <= 1)
#endif
}

/* The application, and the network in front of it: what is on its way may arrive at any time. */
proctype upstream() {
  byte t, i;
end:
  do
  :: atomic { in_flight != 0 ->
       t = 1;
       do
       :: !((in_flight >> t) & 1) -> t++
       :: (in_flight >> t) & 1 && (in_flight >> (t + 1)) != 0 -> t++ /* another one first */
       :: (in_flight >> t) & 1 -> break
       od;
       in_flight = in_flight & ~(1 << t);
       if
       :: t >= fence -> take_effect(t); answer_to(t, A_done)
       :: t >= fence && refusals > 0 -> refusals--; take_effect(t); answer_to(t, A_broken)
       :: refusals > 0 -> refusals--; answer_to(t, A_refused)
       :: refusals > 0 -> refusals--; answer_to(t, A_broken) /* lost on its way */
       :: t < fence -> answer_to(t, A_broken) /* it refuses; what an earlier one did is not said */
       fi;
       t = 0 }
  od
}

/* Leases run out: of whoever is gone, and `SLEEPS` times of one who lives and sleeps. */
proctype clock() {
  byte i;
end:
  do
  :: atomic { (UNSETTLED(r.state) || r.state == S_failed) && !r.over ->
       i = 0;
       do
       :: i < GATEWAYS && !(has_lease[i] && claim_id[i] == r.claim) -> i++
       :: i < GATEWAYS && has_lease[i] && claim_id[i] == r.claim && sleeps > 0 ->
          sleeps--; late[i] = 1; r.over = 1; break
#ifdef SERVICE
       /* Before its work a client sees by its clocks how long it took; amid the work it does not look. */
       :: i < GATEWAYS && has_lease[i] && claim_id[i] == r.claim && unrenewed[i] ->
          late[i] = (waits_for[i] == 0 -> 1 : late[i]); r.over = 1; break
#endif
       :: i == GATEWAYS -> r.over = 1; break
       :: else -> break /* who lives and is awake renews in time */
       od;
       i = 0 }
  od
}

/* Messages that come late. */
proctype network() {
end:
  do
  :: atomic { stray_claim != 0 ->
       store_claim(stray_claim, stray_print, POLICY, TARGET);
       result = 0; stray_claim = 0; stray_print = 0 }
  :: atomic { stray_kind != 0 ->
       store_settle(stray_kind, stray_token, stray_settle_id, 0);
       result = 0; stray_kind = 0; stray_token = 0; stray_settle_id = 0 }
  od
}

#ifdef FLUSH
inline copy(to, from) {
  to.state = from.state; to.token = from.token; to.claim = from.claim; to.answer = from.answer;
  to.print = from.print; to.over = from.over; to.doubt = from.doubt; to.abandoned = from.abandoned
}
/* A store whose process, or machine, ends: what was not flushed is gone, and what waited is in doubt. */
proctype disk_and_power() {
  byte i;
end:
  do
  :: atomic { unflushed -> copy(disk, r); unflushed = 0 }
  :: atomic { restarts > 0 ->
       restarts--; copy(r, disk); unflushed = 0;
       for (i : 0 .. GATEWAYS - 1) { broken[i] = calling[i]; calling[i] = 0 }
       i = 0 }
  od
}
#endif

#define HELD (r.over && (r.state == S_in_progress || r.state == S_probing))
#ifdef OPERATOR
#ifdef FORCED /* a control: --force, while the first attempt may still be on its way */
#define TIMEOUT_IS_OVER true
#else
#define TIMEOUT_IS_OVER (in_flight == 0)
#endif
/* A person who looks what the upstream's ledger says, and acts on that later: keys complete, keys release
 * (without --force). The upstream's timeout is over when nothing is on its way any more. */
proctype operator() {
end:
  do
  :: atomic { HELD && TIMEOUT_IS_OVER && !as_seen -> as_seen = 1; seen_effect = (effects > 0) }
  :: atomic { HELD && TIMEOUT_IS_OVER && as_seen ->
       if
       :: seen_effect -> store_resolve(K_complete, L_over, B_no)
       :: else -> store_resolve(K_release, L_over, B_no)
       fi;
       SEEN_NO_MORE; result = 0 }
  od
}
#endif

#ifdef SERVICE
proctype service() {
  byte i;
end:
  do
  :: atomic { services > 0 ->
       services--;
       for (i : 0 .. GATEWAYS - 1) { unrenewed[i] = has_lease[i] }
       i = 0 }
  od
}
#endif

#ifdef SWEEP
/* Retention is over, and the sweep comes by. Of a completed record its clients are done by then, or what
 * comes is a new operation. */
proctype sweep() {
end:
  do
  :: atomic {
#ifdef LEASE_AS_RETENTION /* a control: the end of the lease is taken for that of the retention */
       r.over && r.state != S_absent ->
#else
       r.state == S_failed || r.state == S_released ->
#endif
       HOLDS(sweep_is_safe, !UNSETTLED(r.state));
       r.state = S_absent; r.token = 0; r.claim = 0; r.print = 0; r.over = 0; r.doubt = 0;
       r.abandoned = 0; r.answer = 0 }
  od
}
#endif

init {
  byte i;
  atomic {
    for (i : 0 .. GATEWAYS - 1) { claim_id[i] = i + 1; run gateway(i) }
    i = 0;
    run upstream(); run clock(); run network();
#ifdef FLUSH
    run disk_and_power();
#endif
#ifdef SERVICE
    run service();
#endif
#ifdef OPERATOR
    run operator();
#endif
#ifdef SWEEP
    run sweep();
#endif
  }
}

#if GATEWAYS == 2
#define ALL_SERVED (served[0] && served[1])
#else
#define ALL_SERVED (served[0] && served[1] && served[2])
#endif
#ifdef LIVENESS
/* Failures are bounded, so they stop. Then each client gets its answer, but for what `hold` holds. */
#if POLICY == U_hold && !defined(OPERATOR)
#ifdef NOTHING_IS_HELD /* a control: `hold` does hold */
#undef HELD
#define HELD false
#endif
ltl nothing_is_blocked { <>[](ALL_SERVED || HELD) }
#else
ltl nothing_is_blocked { <>(ALL_SERVED) }
#endif
#endif
