#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/address.hpp"
#include "cli/diagnose/surroundings.hpp"
#include "gateway/upstream_pool.hpp"
#include "http/proxy_sign.hpp"
#include "tls/session.hpp"

namespace onceguard::cli {
namespace {

namespace asio = boost::asio;
using base::diagnosis;
using grade = diagnosis::grade;

constexpr auto certificates =
    "correct tls_ca, tls_name, tls_certificate or tls_key of its [[upstream]]";

std::string question_for(const gateway::upstream_params& upstream) {
  std::string out;
  http1::append_request_line(out, "HEAD", upstream.base_path + '/');
  http1::append_field(out, "Host", authority_of(upstream.address));
  http1::append_field(out, "User-Agent", "onceguard-doctor");
  http1::append_field(out, "Connection", "close");
  http1::append_end_of_head(out);
  return out;
}

class talk {
 public:
  talk(const gateway::upstream_params& upstream, const gateway::gateway_params& params)
      : upstream_(upstream),
        timeout_(params.connect_timeout),
        title_(upstream.name + " (" + text_of(upstream.address) + ")"),
        pool_(io_, params, names_, suspects_) {}

  diagnosis run() {
    report_silence("there was no time for all of it");
    asio::co_spawn(io_, ask(), [](const std::exception_ptr& failed) {
      if (failed) std::rethrow_exception(failed);
    });
    io_.run_for(4 * timeout_);  // an upstream may answer without an end
    return std::move(found_);
  }

 private:
  asio::awaitable<void> ask() {
    auto connection = co_await pool_.connect(upstream_.address);
    if (!connection) {
      found_ = {grade::fault, "upstream", title_ + ": " + connection.error().detail, certificates};
      co_return;
    }
    auto& up = **connection;
    up.reader.answers_to("HEAD");
    const auto question = question_for(upstream_);
    // Also after a failed write there may be an alert to read.
    static_cast<void>(co_await up.stream.write(question, timeout_));
    auto got = up.reader.next();
    while (got == http1::progress::need_more) {
      const auto read = co_await up.stream.read_some(up.reader.prepare(4'096), timeout_);
      if (read.failure) {
        if (!up.why().empty()) {
          found_ = {grade::fault, "upstream", title_ + ": " + up.why(), certificates};
          co_return;
        }
        co_return report_silence(read.failure.message());
      }
      up.reader.commit(read.bytes);
      got = up.reader.next();
    }
    if (got == http1::progress::head) co_return report_answer(up.reader.head());
    found_ = {
        grade::warning, "upstream",
        title_ + " answers a HEAD with what is no HTTP: " + std::string(up.reader.fault().text),
        "correct the url of its [[upstream]]"};
  }

  void report_silence(const std::string& why) {
    found_ = {grade::note,
              "upstream",
              title_ + " takes connections, and does not answer a HEAD: " + why,
              {}};
  }

  void report_answer(const http1::head& answer) {
    const auto sign = http::proxy_sign(answer.fields);
    if (sign.empty()) {
      found_ = {grade::ok, "upstream", title_ + " takes connections, and shows no proxy", {}};
      return;
    }
    found_ = {
        grade::note, "upstream",
        title_ + " is reached through a proxy, as its answer shows (" + std::string(sign) +
            "): a 503 of that leaves the outcome unknown",
        "where it says 503 only of what it has not sent, outcome = { \"503\" = \"release\" }; "
        "see docs/proxies.md"};
  }

  const gateway::upstream_params& upstream_;
  const milliseconds timeout_;
  const std::string title_;
  asio::io_context io_{1};
  gateway::host_names names_;
  gateway::suspect_upstreams suspects_;
  gateway::upstream_pool pool_;
  diagnosis found_;
};

}  // namespace

diagnosis talk_to_upstream(const gateway::upstream_params& upstream,
                           const gateway::gateway_params& params) {
  return talk(upstream, params).run();
}

}  // namespace onceguard::cli
