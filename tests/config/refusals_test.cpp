// Each wrong configuration, and what is said about it, with the exact place.
#include <gtest/gtest.h>

#include "config/load.hpp"

namespace onceguard::config {
namespace {

struct refusal {
  const char* name;
  std::string_view toml;
  std::string_view remarks;  ///< all faults, each in its line
};

std::string faults(const loaded& read) {
  std::string out;
  for (const auto& r : read.remarks) {
    if (r.weight == remark::grade::fault) out += r.text() + "\n";
  }
  return out;
}

void PrintTo(const refusal& r, std::ostream* out) { *out << r.name; }

class refusals : public ::testing::TestWithParam<refusal> {};

TEST_P(refusals, say_what_and_where) {
  sources sources;
  sources.file = "c.toml";
  sources.need_upstream = false;
  const auto read = load_text(GetParam().toml, sources);
  EXPECT_EQ(faults(read), GetParam().remarks);
  EXPECT_EQ(read.ok(), GetParam().remarks.empty());
}

const refusal shapes[] = {
    {"nothing_wrong", "", ""},
    {"syntax", "[gateway]\nlisten = \n",
     "c.toml:2:10: not TOML: Error while parsing key-value pair: expected value, saw '\\n'\n"},
    {"three_brackets", "[gateway]\nthreads = 1\n[[[route]]\n",
     "c.toml:3:3: not TOML: something else was expected here\n"},
    {"no_key_in_brackets", "[=]\n", "c.toml:1:2: not TOML: something else was expected here\n"},
    {"stray_character", "[gateway] # caf\u00e9\nstate_dir = \"\u00e9\" \u00e9\n",
     "c.toml:2:17: not TOML: Error while parsing key-value pair: expected a comment or whitespace, "
     "saw '\u00e9'\n"},
    {"no_break_space", "[gateway]\u00a0\n",
     "c.toml:1:10: not TOML: Error while parsing table header: expected a comment or whitespace, "
     "saw '\u00a0'\n"},
    {"not_utf8", "[gateway]\n# \u00e9 \xed\xa0\x80\n",
     "c.toml:2:5: not TOML: the text is not UTF-8 here\n"},
    {"characters_in_strings",
     "\ufeff[gateway]\nstate_dir = \"\"\"\u00e9\\\"\"\"\"\"\" # \u00e9\n[store]\nurl = "
     "'sqlite:\u00e9'\n",
     ""},
    {"unknown_table", "[gatway]\nlisten = \"a:1\"\n",
     "c.toml:1:2: unknown table \"gatway\"; did you mean \"gateway\"?\n"},
    {"option_outside_its_table", "listen = \"127.0.0.1:80\"\n",
     "c.toml:1:1: unknown option \"listen\"; it belongs in [gateway]\n"},
    {"unknown_option", "[gateway]\n  listn = \"127.0.0.1:80\"\n",
     "c.toml:2:3: [gateway] unknown option \"listn\"; did you mean \"listen\"?\n"},
    {"option_of_another_table", "[gateway]\nlease = \"10s\"\n",
     "c.toml:2:1: [gateway] unknown option \"lease\"; it belongs in [defaults]\n"},
    {"unknown_option_without_a_guess", "[store]\nxyzzy = 1\n",
     "c.toml:2:1: [store] unknown option \"xyzzy\"\n"},
    {"table_as_value", "gateway = 3\n",
     "c.toml:1:1: \"gateway\" is written as the table [gateway]\n"},
    {"table_as_array", "[[store]]\nurl = \"memory:\"\n",
     "c.toml:1:3: \"store\" is written as the table [store]\n"},
    {"array_as_table", "[route]\npath = \"/\"\n",
     "c.toml:1:2: \"route\" is written as the table [[route]]\n"},
    {"array_of_something_else", "upstream = [1]\n",
     "c.toml:1:1: \"upstream\" is written as the table [[upstream]]\n"},
    {"several_at_once", "[gateway]\nthreads = -1\nlisten = \"x\"\n[defaults]\nkeep = \"some\"\n",
     "c.toml:2:11: [gateway] threads: expected a whole number from 0 to 256, got \"-1\"\n"
     "c.toml:3:10: [gateway] listen: expected HOST:PORT such as \"127.0.0.1:8080\" or "
     "\"[::1]:8080\", got \"x\"\n"
     "c.toml:5:8: [defaults] keep: expected \"success\", \"final\" or \"all\", got \"some\"\n"},
    {"query_without_the_key", "[reconcile]\nquery = \"SELECT 1\"\n",
     "c.toml:2:9: [reconcile] query: a query that does not use $2, the key, says the same of every "
     "key\n"},
    {"query_without_a_database", "[reconcile]\nquery = \"SELECT $1, $2\"\n",
     "c.toml:2:9: [reconcile] query: needs a PostgreSQL database; name the one with the "
     "application's tables in database\n"},
    {"query_in_another_kind_of_database", "[reconcile]\ndatabase = \"mysql://ann:pw@host/shop\"\n",
     "c.toml:2:12: [reconcile] database: expected \"postgresql://HOST/DATABASE\"\n"},
    {"control_bytes_are_not_printed", "[defaults]\nkeep = \"\\u001b[31m\"\n",
     "c.toml:2:8: [defaults] keep: expected \"success\", \"final\" or \"all\", got "
     "\"\\x1b[31m\"\n"},
};

const refusal types[] = {
    {"text_for_integer", "[gateway]\nthreads = \"2\"\n",
     "c.toml:2:11: [gateway] threads: expected a whole number from 0 to 256, got \"2\"\n"},
    {"real_for_integer", "[gateway]\nthreads = 1.5\n",
     "c.toml:2:11: [gateway] threads: expected a whole number from 0 to 256, got a "
     "floating-point number\n"},
    {"integer_for_duration", "[defaults]\nlease = 30\n",
     "c.toml:2:9: [defaults] lease: expected a duration from 1s to 1d, got the number 30\n"},
    {"time_for_duration", "[defaults]\nlease = 07:32:00\n",
     "c.toml:2:9: [defaults] lease: expected a duration from 1s to 1d, got a date or time\n"},
    {"unit_of_duration", "[defaults]\nlease = \"30 seconds\"\n",
     "c.toml:2:9: [defaults] lease: expected a duration such as \"250ms\", \"30s\", \"1m\", "
     "\"24h\" or \"7d\", got \"30 seconds\"; did you mean \"30s\"?\n"},
    {"short_duration", "[defaults]\nlease = \"999ms\"\n",
     "c.toml:2:9: [defaults] lease: expected a duration from 1s to 1d, got \"999ms\"\n"},
    {"long_duration", "[defaults]\nlease = \"25h\"\n",
     "c.toml:2:9: [defaults] lease: expected a duration from 1s to 1d, got \"25h\"\n"},
    {"empty_duration", "[defaults]\nlease = \"\"\n",
     "c.toml:2:9: [defaults] lease: expected a duration such as \"250ms\", \"30s\", \"1m\", "
     "\"24h\" or \"7d\", got \"\"\n"},
    {"empty_duration_where_it_may_be", "[defaults]\nunknown_retention = \"\"\n", ""},
    {"unit_of_size", "[defaults]\nmax_answer_body = \"1MB\"\n",
     "c.toml:2:19: [defaults] max_answer_body: expected a size such as \"512\", \"64KiB\", "
     "\"1MiB\" or \"2GiB\", got \"1MB\"\n"},
    {"negative_size", "[defaults]\nmax_answer_body = -1\n",
     "c.toml:2:19: [defaults] max_answer_body: expected a size such as \"512\", \"64KiB\", "
     "\"1MiB\" or \"2GiB\", got \"-1\"\n"},
    {"large_size", "[defaults]\nmax_answer_body = \"1GiB\"\n",
     "c.toml:2:19: [defaults] max_answer_body: expected a size from 0 to 256MiB, got "
     "\"1GiB\"\n"},
    {"text_for_boolean", "[defaults]\nrequired = \"true\"\n",
     "c.toml:2:12: [defaults] required: expected true or false, got \"true\"\n"},
    {"text_for_list", "[defaults]\nmethods = \"POST\"\n",
     "c.toml:2:11: [defaults] methods: expected a list of texts, got \"POST\"\n"},
    {"number_in_list", "[defaults]\nmethods = [\"POST\", 1]\n",
     "c.toml:2:20: [defaults] methods: expected a text in quotes, got the number 1\n"},
    {"twice_in_list", "[defaults]\nmethods = [\"POST\", \"PUT\", \"POST\"]\n",
     "c.toml:2:27: [defaults] methods: \"POST\" is there twice\n"},
    {"choice", "[defaults]\non_busy = \"wiat\"\n",
     "c.toml:2:11: [defaults] on_busy: expected \"reject\" or \"wait\", got \"wiat\"; did you mean "
     "\"wait\"?\n"},
    {"number_for_choice", "[defaults]\non_busy = 1\n",
     "c.toml:2:11: [defaults] on_busy: expected \"reject\" or \"wait\", got the number 1\n"},
    {"list_for_outcome", "[defaults]\noutcome = [\"5xx\"]\n",
     "c.toml:2:11: [defaults] outcome: expected statuses, classes or parts of an answer with "
     "\"complete\", \"release\", \"unknown\" or \"fail\", got an array\n"},
    {"outcomes",
     "[defaults]\noutcome = { 600 = \"fail\", \"5x\" = \"fail\", 200 = \"repeat\", \"1xx\" = "
     "\"fail\", 402 = 1 }\n",
     "c.toml:2:13: [defaults] outcome: expected a status such as \"402\", a class such as "
     "\"5xx\", or a part of the answer such as \"header:grpc-status\" or \"json:/errors\", got "
     "\"600\"\n"
     "c.toml:2:27: [defaults] outcome: expected a status such as \"402\", a class such as "
     "\"5xx\", or a part of the answer such as \"header:grpc-status\" or \"json:/errors\", got "
     "\"5x\"\n"
     "c.toml:2:42: [defaults] outcome: expected statuses, classes or parts of an answer with "
     "\"complete\", \"release\", \"unknown\" or \"fail\", got \"repeat\"\n"
     "c.toml:2:58: [defaults] outcome: an answer of 1xx is never the final one, got \"1xx\"\n"
     "c.toml:2:74: [defaults] outcome: expected statuses, classes or parts of an answer with "
     "\"complete\", \"release\", \"unknown\" or \"fail\", got the number 1\n"},
    {"parts_of_answers",
     "[defaults]\noutcome = { \"header:\" = \"fail\", \"json:a\" = \"fail\", \"json:/a=\" = "
     "\"fail\", \"header:Onceguard-Outcome\" = \"fail\" }\n",
     "c.toml:2:13: [defaults] outcome: expected \"header:NAME\", \"header:NAME=VALUE\", "
     "\"json:/POINTER\" or \"json:/POINTER=VALUE\", got \"header:\"\n"
     "c.toml:2:33: [defaults] outcome: expected \"header:NAME\", \"header:NAME=VALUE\", "
     "\"json:/POINTER\" or \"json:/POINTER=VALUE\", got \"json:a\"\n"
     "c.toml:2:52: [defaults] outcome: expected \"header:NAME\", \"header:NAME=VALUE\", "
     "\"json:/POINTER\" or \"json:/POINTER=VALUE\", got \"json:/a=\"\n"
     "c.toml:2:73: [defaults] outcome: what Onceguard's own headers say needs no rule, got "
     "\"header:Onceguard-Outcome\"\n"},
    {"status", "[defaults]\nprobe_mode = \"ask\"\nprobe_present = 99\nprobe_absent = \"x\"\n",
     "c.toml:3:17: [defaults] probe_present: expected a status from 100 to 599, or \"\", got "
     "\"99\"\n"
     "c.toml:4:16: [defaults] probe_absent: expected a status from 100 to 599, or \"\", got "
     "\"x\"\n"},
    {"empty_text", "[store]\nurl = \"\"\n",
     "c.toml:2:7: [store] url: expected \"sqlite:PATH\", \"journal:/FOLDER\", "
     "\"postgresql://HOST/DATABASE\", \"redis://HOST\", \"dynamodb://REGION/TABLE\" or "
     "\"memory:\", got a value without a scheme\n"},
};

const refusal values[] = {
    {"unsafe_methods",
     "[defaults]\nmethods = [\"GET\", \"HEAD\", \"OPTIONS\", \"TRACE\", \"CONNECT\"]\n",
     "c.toml:2:12: [defaults] methods: GET can't be guarded: it has no effect to repeat\n"
     "c.toml:2:19: [defaults] methods: HEAD can't be guarded: it has no effect to repeat\n"
     "c.toml:2:27: [defaults] methods: OPTIONS can't be guarded: it has no effect to repeat\n"
     "c.toml:2:38: [defaults] methods: TRACE can't be guarded: it has no effect to repeat\n"
     "c.toml:2:47: [defaults] methods: CONNECT can't be guarded: it has no effect to repeat\n"},
    {"method", "[defaults]\nmethods = [\"post\", \"P T\"]\n",
     "c.toml:2:12: [defaults] methods: methods are in capitals, got \"post\"\n"
     "c.toml:2:20: [defaults] methods: expected a method such as \"POST\", got \"P T\"\n"},
    {"method_that_no_request_can_have", "[defaults]\nmethods = [\"PUT\", \"SEEK\"]\n",
     "c.toml:2:11: [defaults] methods: \"SEEK\" can't be guarded: the gateway answers 501 to "
     "it\n"},
    {"header_name", "[defaults]\nscope = \"header:X Tenant\"\n",
     "c.toml:2:9: [defaults] scope: expected the name of a header field after \"header:\", got "
     "\"header:X Tenant\"\n"},
    {"no_key", "[defaults]\nkey = []\n",
     "c.toml:2:7: [defaults] key: expected a header field, \"path:N\", \"json:/pointer\" or "
     "\"content\", got an empty list\n"},
    {"segment_of_the_key", "[defaults]\nkey = [\"path:0\"]\n",
     "c.toml:2:8: [defaults] key: expected the number of a segment, from 1 to 64, after \"path:\", "
     "got \"path:0\"\n"},
    {"segment_in_words", "[defaults]\nkey = [\"path:two\"]\n",
     "c.toml:2:8: [defaults] key: expected the number of a segment, from 1 to 64, after \"path:\", "
     "got \"path:two\"\n"},
    {"header_of_the_key", "[defaults]\nkey = [\"X Id\"]\n",
     "c.toml:2:8: [defaults] key: expected the name of a header field such as \"Idempotency-Key\", "
     "\"path:N\", \"json:/pointer\" or \"content\", got \"X Id\"\n"},
    {"credential_as_key", "[defaults]\nkey = [\"Authorization\"]\n",
     "c.toml:2:8: [defaults] key: this header field can't be a key, got \"Authorization\"\n"},
    {"key_as_its_scope", "[defaults]\nkey = [\"X-Id\"]\nscope = \"header:x-id\"\n",
     "c.toml:2:7: [defaults] key: the key can't be its own scope\n"},
    {"content_before_others", "[defaults]\nkey = [\"content\", \"X-Id\"]\n",
     "c.toml:2:7: [defaults] key: \"content\" must be the last: every request has it\n"},
    {"content_of_nothing", "[defaults]\nkey = [\"content\"]\nfingerprint = \"none\"\n",
     "c.toml:2:7: [defaults] key: \"content\" needs a fingerprint other than \"none\"\n"},
    {"content_observed", "[defaults]\nkey = [\"content\"]\nobserve = true\n",
     "c.toml:2:7: [defaults] key: \"content\" can't be observed: it is known after the body "
     "only\n"},
    {"jwt", "[defaults]\nscope = \"jwt:sub\"\n",
     "c.toml:2:9: [defaults] scope: \"jwt:sub\" needs keys_file of [jwt]\n"},
    {"admin", "[gateway]\nadmin = \"8081\"\n",
     "c.toml:2:9: [gateway] admin: expected HOST:PORT such as \"127.0.0.1:8081\", or "
     "\"unix:/run/onceguard/admin.sock\"\n"},
    {"admin_at_the_address_of_listen",
     "[gateway]\nlisten = \"127.0.0.1:8081\"\nadmin = \"127.0.0.1:8081\"\n",
     "c.toml:3:9: [gateway] admin: 127.0.0.1:8081 is taken by listen; choose another port\n"},
    {"admin_where_listen_takes_every_address",
     "[gateway]\nlisten = \"0.0.0.0:8081\"\nadmin = \"localhost:8081\"\n",
     "c.toml:3:9: [gateway] admin: localhost:8081 is taken by listen; choose another port\n"},
    {"admin_where_listen_takes_every_address_of_ipv6",
     "[gateway]\nlisten = \"[::]:8081\"\nadmin = \"127.0.0.1:8081\"\n",
     "c.toml:3:9: [gateway] admin: 127.0.0.1:8081 is taken by listen; choose another port\n"},
    {"admin_at_another_address_with_the_port_of_listen",
     "[gateway]\nlisten = \"127.0.0.2:8081\"\nadmin = \"127.0.0.1:8081\"\n", ""},
    {"admin_beside_every_address_of_ipv4",
     "[gateway]\nlisten = \"0.0.0.0:8081\"\nadmin = \"[::1]:8081\"\n", ""},
    {"admin_and_listen_at_any_port",
     "[gateway]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n", ""},
    {"admin_beyond_this_machine", "[gateway]\nadmin = \"0.0.0.0:8081\"\n",
     "c.toml:2:9: [gateway] admin: 0.0.0.0:8081 can be reached from other machines, and needs "
     "admin_token_file\n"},
    {"accelerator_alone", "[store]\naccelerator = \"redis://r\"\n",
     "c.toml:2:15: [store] accelerator: needs \"postgresql://HOST/DATABASE\", which is the truth "
     "behind "
     "it\n"},
    {"accelerator", "[store]\naccelerator = \"postgresql://user:secret@db/x\"\n",
     "c.toml:2:15: [store] accelerator: expected \"redis://HOST\"\n"},
    {"accelerator_cluster",
     "[store]\nurl = \"postgresql://db/x\"\naccelerator = \"redis+cluster://u:secret@r\"\n",
     "c.toml:3:15: [store] accelerator: an accelerator is one server: expected "
     "\"redis://HOST\"\n"},
    {"accelerator_port",
     "[store]\nurl = \"postgresql://db/x\"\naccelerator = \"redis://user:secret@r:x\"\n",
     "c.toml:3:15: [store] accelerator: redis store: the port is no port; expected "
     "redis://[user:password@]host[:port][/database][?prefix=…], redis+sentinel://…/MASTER_NAME or "
     "redis+cluster://…, with special characters as %XX\n"},
    {"postgresql", "[store]\nurl = \"postgresql:user:secret@db/x\"\n",
     "c.toml:2:7: [store] url: expected \"postgresql://HOST/DATABASE\"\n"},
    {"connections", "[store]\nconnections = 0\n",
     "c.toml:2:15: [store] connections: expected a whole number from 1 to 256, got \"0\"\n"},
    {"redis", "[store]\nurl = \"redis:user:secret@r\"\n",
     "c.toml:2:7: [store] url: redis store: the URL can't be read; expected "
     "redis://[user:password@]host[:port][/database][?prefix=…], redis+sentinel://…/MASTER_NAME or "
     "redis+cluster://…, with special characters as %XX\n"},
    {"redis_cluster", "[store]\nurl = \"redis+cluster:user:secret@r\"\n",
     "c.toml:2:7: [store] url: redis store: the URL can't be read; expected "
     "redis://[user:password@]host[:port][/database][?prefix=…], redis+sentinel://…/MASTER_NAME or "
     "redis+cluster://…, with special characters as %XX\n"},
    {"redis_sentinel", "[store]\nurl = \"redis+sentinel://user:secret@r\"\n",
     "c.toml:2:7: [store] url: redis store: the name of the master is missing; expected "
     "redis://[user:password@]host[:port][/database][?prefix=…], redis+sentinel://…/MASTER_NAME or "
     "redis+cluster://…, with special characters as %XX\n"},
    {"redis_parameter", "[store]\nurl = \"redis://r?nope=1\"\n",
     "c.toml:2:7: [store] url: redis store: there is no parameter \"nope\" here; expected "
     "redis://[user:password@]host[:port][/database][?prefix=…], redis+sentinel://…/MASTER_NAME or "
     "redis+cluster://…, with special characters as %XX\n"},
    {"other_store", "[store]\nurl = \"mysql://user:secret@db\"\n",
     "c.toml:2:7: [store] url: expected \"sqlite:PATH\", \"journal:/FOLDER\", "
     "\"postgresql://HOST/DATABASE\", \"redis://HOST\", \"dynamodb://REGION/TABLE\" or "
     "\"memory:\", got the scheme \"mysql\"\n"},
    {"relative_journal", "[store]\nurl = \"journal:keys\"\n",
     "c.toml:2:7: [store] url: expected the whole path of a folder, such as "
     "\"journal:/var/lib/onceguard/journal\": from another working directory a relative one would "
     "be another store\n"},
    {"sqlite_without_path", "[store]\nurl = \"sqlite:\"\n",
     "c.toml:2:7: [store] url: expected a path after \"sqlite:\"\n"},
    {"transactional", "[defaults]\neffect = \"transactional\"\n",
     "c.toml:2:10: [defaults] effect: \"transactional\" needs \"postgresql://HOST/DATABASE\"\n"},
    {"proxies", "[gateway]\ntrusted_proxies = [\"10.0.0.0/8\", \"proxy\"]\n",
     "c.toml:2:34: [gateway] trusted_proxies: expected an address or block such as \"10.0.0.1\" "
     "or \"10.0.0.0/8\", got \"proxy\"\n"},
    {"problem_base", "[gateway]\nproblem_base = \"docs\"\n",
     "c.toml:2:16: [gateway] problem_base: expected the beginning of a URI such as "
     "\"https://docs.example.com/problems/\", got \"docs\"\n"},
    {"pointer", "[defaults]\nfingerprint = \"json\"\nfingerprint_pick = [\"amount\"]\n",
     "c.toml:3:21: [defaults] fingerprint_pick: expected a JSON Pointer such as "
     "\"/payment/amount\", got \"amount\"\n"},
    {"probe_without_scope", "[defaults]\nprobe = \"http://a/{key}\"\n",
     "c.toml:2:9: [defaults] probe: expected a URL with {scope} and {key} in it, got "
     "\"http://a/{key}\"\n"},
    {"probe_with_a_host_by_the_client", "[defaults]\nprobe = \"http://{key}/{scope}\"\n",
     "c.toml:2:9: [defaults] probe: {scope} and {key} belong in the path or query, got "
     "\"http://{key}/{scope}\"\n"},
    {"probe_with_more", "[defaults]\nprobe = \"http://a/{scope}/{key}/{token}\"\n",
     "c.toml:2:9: [defaults] probe: only {scope} and {key} are put in, got "
     "\"http://a/{scope}/{key}/{token}\"\n"},
};

const refusal together[] = {
    {"pick_and_omit",
     "[defaults]\nfingerprint = \"json\"\nfingerprint_pick = [\"/a\"]\nfingerprint_omit = "
     "[\"/b\"]\n",
     "c.toml:4:20: [defaults] fingerprint_omit: either fingerprint_pick or fingerprint_omit, not "
     "both\n"},
    {"pick_without_json", "[defaults]\nfingerprint_pick = [\"/a\"]\n",
     "c.toml:2:20: [defaults] fingerprint_pick: only with fingerprint = \"json\"\n"},
    {"probe_missing", "[defaults]\nunknown = \"probe\"\n",
     "c.toml:2:11: [defaults] unknown: \"probe\" needs the option probe, such as "
     "\"http://127.0.0.1:9000/outcome/{scope}/{key}\"\n"},
    {"present_without_ask", "[defaults]\nprobe_present = \"200\"\n",
     "c.toml:2:17: [defaults] probe_present: only with probe_mode = \"ask\"\n"},
    {"present_is_absent",
     "[defaults]\nprobe_mode = \"ask\"\nprobe_present = \"200\"\nprobe_absent = \"200\"\n",
     "c.toml:4:16: [defaults] probe_absent: must differ from probe_present\n"},
    {"backoff", "[defaults]\nbackoff = \"2m\"\n",
     "c.toml:2:11: [defaults] backoff: must not be longer than backoff_max\n"},
    {"required_of_nothing", "[defaults]\nrequired = true\nmethods = []\n",
     "c.toml:2:12: [defaults] required: no method is guarded, so no key can be required\n"},
    {"buffer", "[gateway]\nmax_buffered = \"1MiB\"\n",
     "c.toml:2:16: max_buffered of [gateway] must hold max_request_body and max_answer_body "
     "together\n"},
};

const refusal routing[] = {
    {"unknown_upstream",
     "[[upstream]]\nname = \"payments\"\nurl = \"http://a\"\n[[route]]\nupstream = \"payment\"\n",
     "c.toml:5:12: [[route]] upstream: there is no upstream \"payment\"; did you mean "
     "\"payments\"?\n"},
    {"same_upstream",
     "[[upstream]]\nname = \"a\"\nurl = \"http://a\"\n[[upstream]]\nname = \"a\"\nurl = "
     "\"http://b\"\n",
     "c.toml:5:8: [[upstream]] name: \"a\" is there twice\n"},
    {"incomplete_upstreams", "[[upstream]]\nname = \"a\"\n\n[[upstream]]\nurl = \"http://b\"\n",
     "c.toml:1:1: [[upstream]] url: missing\nc.toml:4:1: [[upstream]] name: missing\n"},
    {"tls_without_https", "[[upstream]]\nname = \"a\"\nurl = \"http://a\"\ntls_name = \"b\"\n",
     "c.toml:1:1: [[upstream]] tls_…: only with https:// in url\n"},
    {"certificate_without_key",
     "[[upstream]]\nname = \"a\"\nurl = \"https://a\"\ntls_certificate = \"/c.pem\"\n",
     "c.toml:1:1: [[upstream]] tls_certificate and tls_key: both or neither\n"},
    {"absent_authority", "[[upstream]]\nname = \"a\"\nurl = \"https://a\"\ntls_ca = \"/nowhere\"\n",
     "c.toml:1:1: [[upstream]] tls_…: /nowhere: can't be read: No such file or directory\n"},
    {"upstream_with_query", "[[upstream]]\nname = \"a\"\nurl = \"http://a/?b\"\n",
     "c.toml:3:7: [[upstream]] url: expected a URL such as \"http://127.0.0.1:9000\" without a "
     "query, got \"http://a/?***\"\n"},
    {"upstream_option", "[[upstream]]\nname = \"a\"\nurll = \"http://a\"\n",
     "c.toml:3:1: [[upstream]] unknown option \"urll\"; did you mean \"url\"?\n"},
    {"route_path", "[[route]]\npath = \"/a/../b\"\n",
     "c.toml:2:8: [[route]] path: expected a path such as \"/v1/payments\" in normal form, without "
     "a dot segment, got \"/a/../b\"\n"},
    {"route_host", "[[route]]\nhost = \"a:80\"\n",
     "c.toml:2:8: [[route]] host: expected a host name or address without a port, got \"a:80\"\n"},
    {"route_policy", "[[route]]\npath = \"/a\"\nkeep = \"some\"\n",
     "c.toml:3:8: [[route]] keep: expected \"success\", \"final\" or \"all\", got \"some\"\n"},
    {"route_option", "[[route]]\npth = \"/a\"\n",
     "c.toml:2:1: [[route]] unknown option \"pth\"; did you mean \"path\"?\n"},
    {"twin_routes",
     "[[route]]\npath = \"/a\"\n\n[[route]]\npath = \"/b\"\n\n[[route]]\npath = \"/a/\"\n",
     "c.toml:7:1: [[route]] fits the same requests as the one in line 1\n"},
    {"twin_routes_by_method",
     "[[route]]\nmatch_method = [\"POST\", \"PUT\"]\n[[route]]\nmatch_method = [\"PUT\"]\n",
     "c.toml:3:1: [[route]] fits the same requests as the one in line 1\n"},
    {"former_name_of_a_route_option", "[[route]]\nmethod = [\"POST\"]\n",
     "c.toml:2:1: [[route]] unknown option \"method\"; its name is \"match_method\" now\n"},
    {"required_where_nothing_is_guarded",
     "[[route]]\nmatch_method = [\"GET\", \"PUT\"]\nrequired = true\n",
     "c.toml:3:12: [[route]] required: can't apply: none of the methods in match_method is "
     "guarded; "
     "add one to methods\n"},
    {"required_where_one_method_is_guarded",
     "[[route]]\nmatch_method = [\"GET\", \"PUT\"]\nmethods = [\"PUT\"]\nrequired = true\n", ""},
    {"required_by_default_and_a_route_that_guards_nothing",
     "[defaults]\nrequired = true\n[[route]]\nmatch_method = [\"GET\"]\n", ""},
    {"no_twins",
     "[[route]]\nmatch_method = [\"POST\"]\n[[route]]\nmatch_method = [\"PUT\"]\n[[route]]\n"
     "host = \"a\"\n",
     ""},
    {"combination_in_a_route",
     "[defaults]\nfingerprint = \"json\"\n[[route]]\npath = \"/a\"\nfingerprint_pick = "
     "[\"/a\"]\nfingerprint_omit = [\"/b\"]\n",
     "c.toml:6:20: [[route]] fingerprint_omit: either fingerprint_pick or fingerprint_omit, not "
     "both\n"},
    {"a_route_may_leave_what_defaults_say",
     "[defaults]\nfingerprint = \"json\"\nfingerprint_pick = [\"/a\"]\n[[route]]\npath = "
     "\"/a\"\nfingerprint = \"exact\"\n[[route]]\npath = \"/b\"\nfingerprint_omit = [\"/b\"]\n",
     ""},
};

std::string name_of_case(const ::testing::TestParamInfo<refusal>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(shape, refusals, ::testing::ValuesIn(shapes), name_of_case);
INSTANTIATE_TEST_SUITE_P(type, refusals, ::testing::ValuesIn(types), name_of_case);
INSTANTIATE_TEST_SUITE_P(value, refusals, ::testing::ValuesIn(values), name_of_case);
INSTANTIATE_TEST_SUITE_P(together, refusals, ::testing::ValuesIn(together), name_of_case);
INSTANTIATE_TEST_SUITE_P(routing, refusals, ::testing::ValuesIn(routing), name_of_case);

}  // namespace
}  // namespace onceguard::config
