// The options of [store].
#include "config/all_options.hpp"
#include "config/stores.hpp"
#include "config/table/option.hpp"
#include "store/pepper.hpp"
#include "store/sealed/key_ring.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string accelerator_complaint(std::string_view url) {
  return known_stores().accelerator_fault(url);
}

std::string store_complaint(std::string_view url) { return known_stores().url_fault(url); }

std::string key_ring_complaint(std::string_view path) {
  const auto ring = sealed::key_ring::read(std::string(path));
  return ring ? std::string() : ring.error().detail;
}

std::string pepper_complaint(std::string_view path) {
  const auto pepper = read_pepper(std::string(path));
  return pepper ? std::string() : pepper.error().detail;
}

constexpr std::array<std::string_view, 2> after_loss_words{"refuse", "flag"};
constexpr std::array<std::string_view, 2> accelerator_replays_words{"fresh", "always"};

const row<settings> store_table[]{
    {{.name = "url",
      .flag = "store",
      .fallback = "sqlite:onceguard.db",
      .example = "sqlite:/var/lib/onceguard/records.db",
      .text = "Where records are kept: `sqlite:PATH`, `journal:/FOLDER` (for one process), "
              "`postgresql://…` as libpq reads it (after `onceguard migrate`), `redis://…`, "
              "`redis+sentinel://…/NAME` or `redis+cluster://…` (through TLS with `rediss`), "
              "`dynamodb://REGION/TABLE` (after `onceguard migrate`), or `memory:` (gone with the "
              "process).",
      .complaint = store_complaint,
      .secret = true},
     assign<&settings::store, &store_params::url>},
    {{.name = "accelerator",
      .flag = "accelerator",
      .example = "redis://cache.internal:6379",
      .text = "A Redis in front of a PostgreSQL store: it answers duplicates, and may lose "
              "everything. `redis://…` or `rediss://…`; empty: none.",
      .may_be_empty = true,
      .complaint = accelerator_complaint,
      .secret = true},
     assign<&settings::accelerator, &accelerator_params::url>},
    {{.name = "accelerator_replays",
      .flag = "accelerator-replays",
      .kind = value_kind::choice,
      .fallback = "fresh",
      .text = "How long the accelerator's answers are given while PostgreSQL is out of reach: "
              "with `fresh` until the last check of both stores is a few seconds old, with "
              "`always` without end. New work runs with neither.",
      .choices = accelerator_replays_words},
     [](settings& s, const option_value& v) {
       s.accelerator.replays_without_store = number(v) == 1;
     }},
    {{.name = "connections",
      .flag = "store-connections",
      .kind = value_kind::integer,
      .fallback = "4",
      .text = "Connections to a PostgreSQL store; what waits while they are busy "
              "travels together.",
      .min = 1,
      .max = 256},
     assign<&settings::store, &store_params::connections>},
    {{.name = "timeout",
      .flag = "store-timeout",
      .kind = value_kind::duration,
      .fallback = "2s",
      .text = "After this long without an answer the store is out of reach (503). A SQLite "
              "lock that another process holds longer counts too.",
      .min = 10,
      .max = minute},
     [](settings& s, const option_value& v) {
       s.store.timeout = duration(v);
       s.gateway.store_timeout = duration(v);
     }},
    {{.name = "encryption_keys_file",
      .flag = "encryption-keys-file",
      .example = "/etc/onceguard/record-keys",
      .text = "The keys with which the kept answers are encrypted in the store (AES-256-GCM), a "
              "line each: `ID KEY`, the key as 64 hex digits or as base64. The first one "
              "encrypts, all of them decrypt. The file is read again when it changes. Empty: "
              "answers are kept in the clear.",
      .may_be_empty = true,
      .complaint = key_ring_complaint},
     assign<&settings::store, &store_params::encryption_keys_file>},
    {{.name = "key_pepper_file",
      .flag = "key-pepper-file",
      .example = "/etc/onceguard/key-pepper",
      .text = "A file with a secret of at least 32 bytes. With it, keys are kept as their "
              "HMAC-SHA-256 in the store, in lists and in the audit log. All processes of the "
              "store need the same one, from its first key on. Empty: keys are kept in the clear.",
      .may_be_empty = true,
      .complaint = pepper_complaint},
     assign<&settings::store, &store_params::key_pepper_file>},
    {{.name = "sweep",
      .flag = "store-sweep",
      .kind = value_kind::duration,
      .fallback = "1m",
      .text = "How often records that have outlived their retention are removed.",
      .min = 100,
      .max = 24 * hour},
     assign<&settings::gateway, &gateway::gateway_params::sweep_interval>},
    {{.name = "after_loss",
      .flag = "after-loss",
      .kind = value_kind::choice,
      .fallback = "refuse",
      .text = "When the store turns out to have lost its memory: `refuse` new claims until "
              "what was running then must be over, or only `flag` new runs as perhaps "
              "repeated.",
      .choices = after_loss_words},
     assign<&settings::gateway, &gateway::gateway_params::after_loss>},
};

}  // namespace

std::span<const row<settings>> store_rows() { return store_table; }

}  // namespace onceguard::config
