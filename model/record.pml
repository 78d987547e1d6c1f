/* The record of one key as every store keeps it, and the acts on it: decide, decide_settle,
 * decide_extension and decide_resolution of src/core, whose rows are in decide_table.txt.
 * One key is enough: no act on a record reads another record. */

#define S_any 99
#define S_absent 0
#define S_started 1
#define S_in_progress 2
#define S_probing 3
#define S_completed 4
#define S_resolved 5
#define S_failed 6
#define S_released 7
#define S_keep 8 /* what a row may do beside naming a state */
#define S_target 9
#define S_unknown 10

#define L_any 99
#define L_same 1
#define L_other 2
#define L_runs 3
#define L_over 4
#define L_tail 5
#define F_any 99
#define F_equal 0
#define F_differs 1
#define B_any 99
#define B_no 0
#define B_yes 1
#define U_any 99
#define U_hold 0
#define U_probe 1
#define U_rerun 2
#define K_any 99
#define K_complete 1
#define K_fail 2
#define K_release 3
#define K_withdraw 4
#define K_abandon 5
#define K_renew 6
#define K_dispatch 7
#define V_run 1
#define V_replay 2
#define V_busy 3
#define V_mismatch 4
#define V_backoff 5
#define V_unknown 6
#define V_refused 7
#define O_done 1
#define O_incident 2
#define O_stale 3
#define O_not_found 4
#define O_running 5
#define O_already_completed 6
#define D_keep 0
#define D_set 1
#define D_clear 2

#define FITS(wanted, given) ((wanted) == 99 || (wanted) == (given))
#define UNSETTLED(state) ((state) == S_started || (state) == S_in_progress || (state) == S_probing)
#define DONE(state) ((state) == S_completed || (state) == S_resolved)

/* A violated property is told by its name: these are never 1, and stand in the assertion's text. */
hidden byte at_most_once, no_dispatch_after_an_answer, a_told_success_is_durable,
  only_the_current_token_writes, a_mismatch_never_runs, one_lease, sweep_is_safe,
  the_first_answer_stays, no_effect_after_a_newer_one;
#define HOLDS(name, condition) assert(name || (condition))

typedef record {
  byte state;
  byte token;
  byte claim;     /* the claim id of the last lease */
  byte answer;    /* the token of the run that completed it */
  bit print;      /* the fingerprint: of the first operation, or of another one under the same key */
  bit over;       /* the lease (or the back-off) is past */
  bit doubt;      /* earlier_unknown */
  bit abandoned;  /* retry_at_lease is set */
};

record r;         /* what the store answers from */
byte last_token;  /* the largest that this store ever gave */
byte result;      /* of the last act; 0 once it was read, in the same atomic step */
hidden byte next_state, doubt_after; /* inside one act */
bit as_seen;      /* the lease is the one that the operator looked at, and nobody has renewed it since */
bit seen_effect;  /* what the upstream's ledger said at that look */

#define SEEN_NO_MORE as_seen = 0; seen_effect = 0
#ifdef UNBOUND /* a control: an operator's act is for the token that was seen, renewed or not */
#define RENEWED_SINCE skip
#else
#define RENEWED_SINCE SEEN_NO_MORE
#endif

/* A lease is given to `id`. Rows decide whether; what must hold whenever one is given is checked. */
inline grant(id, its_print, its_state) {
  HOLDS(one_lease, !(UNSETTLED(r.state) && !r.over));
  HOLDS(a_mismatch_never_runs, r.state == S_absent || r.state == S_released || r.print == its_print);
  last_token++;
  r.token = last_token;
  r.claim = id;
  r.print = its_print;
  r.state = its_state;
  r.over = 0;
  r.abandoned = 0;
  SEEN_NO_MORE
}

inline take_doubt() {
  if
  :: doubt_after == D_set -> r.doubt = 1
  :: doubt_after == D_clear -> r.doubt = 0
  :: else
  fi
}

#ifdef NO_COMPARISON /* a control: the fingerprint is not compared */
#define PRINT_FITS(wanted, its_print) ((wanted) != F_differs)
#else
#define PRINT_FITS(wanted, its_print) FITS(wanted, r.print != (its_print))
#endif

/* decide(): `result` is the verdict, and of a `run` the record has the token. */
inline store_claim(id, its_print, policy, target) {
  d_step {
  if
#define CLAIM(s, c, l, p, u, v, n, d)                                                             \
  :: FITS(S_##s, r.state) && FITS(L_##c, (r.claim == (id) -> L_same : L_other)) &&                \
     FITS(L_##l, (r.over -> L_over : L_runs)) && FITS(U_##u, policy) &&                           \
     PRINT_FITS(F_##p, its_print) ->                                       \
       result = V_##v; next_state = S_##n; doubt_after = D_##d;
#include "decide_table.txt"
#undef CLAIM
  fi;
  if
  :: next_state == S_keep
  :: next_state == S_target -> grant(id, its_print, target)
  :: else -> grant(id, its_print, next_state)
  fi;
  take_doubt()
  }
}
#define LEASE(its_token, id) (r.claim == (id) && r.token == (its_token) -> L_same : L_other)
#define CLAIMED(id) (r.claim == (id) -> L_same : L_other)

/* The holder with this token writes: nobody may once another lease stands in an unsettled record, or
 * the record has its answer. A record that the store forgot, or that was released, takes a fact. */
inline written_by(its_token) {
  HOLDS(only_the_current_token_writes,
        r.state == S_absent || (r.token == (its_token) && !DONE(r.state)))
}

inline take_settle(its_token, id, its_print) {
  if
  :: next_state == S_keep
  :: else ->
     written_by(its_token);
     if
     :: r.state == S_absent -> r.token = its_token; r.claim = id; r.print = its_print
     :: else
     fi;
     if
     :: next_state == S_unknown -> r.state = S_in_progress; r.over = 1; r.abandoned = 1
     :: else -> r.state = next_state; r.over = 0; r.abandoned = 0
     fi;
     r.answer = (next_state == S_completed -> its_token : 0);
     r.print = (next_state == S_released -> 0 : r.print);
     take_doubt()
  fi
}

/* decide_settle() by token and claim id. */
inline store_settle(kind, its_token, id, its_print) {
  d_step {
  if
#define SETTLE(s, l, k, d, o, n, e)                                                              \
  :: FITS(S_##s, r.state) && FITS(L_##l, LEASE(its_token, id)) && FITS(K_##k, kind) &&           \
     FITS(B_##d, r.doubt) -> result = O_##o; next_state = S_##n; doubt_after = D_##e;
#include "decide_table.txt"
  fi;
  take_settle(its_token, id, its_print)
  }
}

/* decide_settle() of a release that names the claim id alone. */
inline store_withdraw(id, its_print) {
  d_step {
  if
#undef SETTLE
#define SETTLE(s, l, k, d, o, n, e)                                                              \
  :: FITS(S_##s, r.state) && FITS(L_##l, CLAIMED(id)) && FITS(K_##k, K_withdraw) &&              \
     FITS(B_##d, r.doubt) -> result = O_##o; next_state = S_##n; doubt_after = D_##e;
#include "decide_table.txt"
#undef SETTLE
  fi;
  take_settle(r.token, id, its_print)
  }
}

/* decide_extension(): renews or dispatches. */
inline store_extend(what, its_token, id) {
  d_step {
  if
#define EXTEND(s, l, a, w, o, n, e)                                                              \
  :: FITS(S_##s, r.state) && FITS(L_##l, LEASE(its_token, id)) && FITS(B_##a, r.abandoned) &&    \
     FITS(K_##w, what) -> result = O_##o; next_state = S_##n; doubt_after = D_##e;
#include "decide_table.txt"
#undef EXTEND
  fi;
  if
  :: result == O_done ->
     written_by(its_token);
     r.over = 0;
     RENEWED_SINCE;
     r.state = (next_state == S_keep -> r.state : next_state);
     take_doubt()
  :: else
  fi
  }
}

/* decide_resolution(), without force: `when` is L_runs, L_tail or L_over. */
inline store_resolve(what, when, forced) {
  d_step {
  if
#define RESOLVE(s, l, w, f, o, n)                                                                \
  :: FITS(S_##s, r.state) && FITS(L_##l, when) && FITS(K_##w, what) && FITS(B_##f, forced) ->    \
       result = O_##o; next_state = S_##n;
#include "decide_table.txt"
#undef RESOLVE
  fi;
  if
  :: next_state == S_keep
  :: else -> r.state = next_state; r.answer = 0; r.doubt = 0; r.over = 0; r.abandoned = 0
  fi
  }
}
