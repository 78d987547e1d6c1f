#include "cli/diagnose/upstream_poll.hpp"

#include <chrono>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/address.hpp"
#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/rethrow.hpp"
#include "gateway/upstream_pool.hpp"
#include "tls/session.hpp"

namespace onceguard::cli::diagnose {
namespace {

namespace asio = boost::asio;
using base::diagnosis;
using grade = diagnosis::grade;

constexpr auto certificates =
    "correct tls_ca, tls_name, tls_certificate or tls_key of its [[upstream]]";
constexpr std::size_t polled_body_max = 64 * 1024;  // of an answer's body
constexpr std::size_t read_piece = 4'096;

class upstream_polling {
 public:
  upstream_polling(const gateway::upstream_params& upstream, const gateway::gateway_params& params,
                   const std::vector<std::string>& paths)
      : upstream_(upstream),
        paths_(paths),
        timeout_(params.connect_timeout),
        pool_(io_, params, names_, suspects_) {
    found_.base_path = upstream.base_path;
    found_.title = upstream.name + " (" + text_of(upstream.address) + ")";
  }

  upstream_poll run() {
    asio::co_spawn(io_, ask_all(), base::rethrow);
    // An upstream may answer without an end.
    io_.run_for(4 * timeout_);
    if (found_.answers.empty() && !found_.obstacle)
      report_silence("there was no time for all of it");
    return std::move(found_);
  }

 private:
  asio::awaitable<void> ask_all() {
    const auto host = authority_of(upstream_.address);
    for (const auto& path : paths_) {
      for (const auto* each : harmless_methods) {
        const std::string method(each);
        auto answer = co_await ask(method, path, host);
        if (found_.obstacle) co_return;
        if (answer) found_.answers.push_back(std::move(*answer));
      }
    }
    for (const auto& one : found_.answers) {
      const auto where = one.field("Location");
      if (!is_redirect(one.status) || where.find("://") == where.npos) continue;
      const std::string other(another_host);
      found_.renamed = co_await ask(one.method, one.path, other);
      co_return;
    }
  }

  [[nodiscard]] std::string question(const std::string& method, const std::string& path,
                                     const std::string& host) const {
    std::string out;
    http1::append_request_line(out, method, upstream_.base_path + path);
    http1::append_field(out, "Host", host);
    http1::append_field(out, "User-Agent", "onceguard-doctor");
    http1::append_field(out, "Accept", "*/*");
    http1::append_field(out, "Accept-Encoding", "gzip");
    http1::append_end_of_head(out);
    return out;
  }

  /// On a connection of its own, which is closed before the end of a long answer.
  asio::awaitable<std::optional<polled_answer>> ask(const std::string& method,
                                                    const std::string& path,
                                                    const std::string& host) {
    auto connection = co_await pool_.connect(upstream_.address);
    if (!connection) {
      if (found_.answers.empty()) {
        found_.obstacle = {grade::fault, "upstream",
                           found_.title + ": " + connection.error().detail, certificates};
      }
      co_return std::nullopt;
    }
    auto& up = **connection;
    up.reader.answers_to(method);
    const auto text = question(method, path, host);
    const auto sent = base::system_clock().wall_ms();
    // Also after a failed write there may be an alert to read.
    static_cast<void>(co_await up.stream.write(text, timeout_));
    polled_answer answer;
    answer.method = method;
    answer.path = path;
    bool has_head = false;
    while (answer.beginning.size() < polled_body_max) {
      const auto got = up.reader.next();
      if (got == http1::progress::head && up.reader.head().status >= 200) {
        take_head(up.reader.head(), sent, answer);
        has_head = true;
      } else if (got == http1::progress::body) {
        answer.beginning += up.reader.body();
      } else if (got == http1::progress::error) {
        if (!has_head) report_nonsense(up);
        break;
      } else if (got == http1::progress::end) {
        if (has_head) break;
        up.reader.reset();  // of an interim answer
      } else if (got == http1::progress::need_more) {
        const auto read = co_await up.stream.read_some(up.reader.prepare(read_piece), timeout_);
        if (read.failure) {
          if (!has_head) report_end(up, read.failure.message());
          break;
        }
        up.reader.commit(read.bytes);
      }
    }
    if (!has_head) co_return std::nullopt;
    co_return answer;
  }

  static void take_head(const http1::head& head, std::int64_t sent, polled_answer& out) {
    out.arrived_ms = base::system_clock().wall_ms();
    out.taken_ms = out.arrived_ms - sent;
    out.status = head.status;
    out.minor = head.minor;
    out.body = head.body;
    for (const auto& each : head.fields) out.fields.emplace_back(each.name, each.value);
  }

  void report_nonsense(const gateway::upstream_connection& up) {
    if (!found_.answers.empty()) return;
    found_.obstacle = {grade::warning, "upstream",
                       found_.title + " answers a HEAD with what is no HTTP: " +
                           std::string(up.reader.fault().text),
                       "correct the url of its [[upstream]]"};
  }

  void report_end(const gateway::upstream_connection& up, const std::string& why) {
    if (!found_.answers.empty()) return;
    if (up.why().empty()) return report_silence(why);
    found_.obstacle = {grade::fault, "upstream", found_.title + ": " + up.why(), certificates};
  }

  void report_silence(const std::string& why) {
    found_.obstacle = {grade::note,
                       "upstream",
                       found_.title + " takes connections, and does not answer a HEAD: " + why,
                       {}};
  }

  const gateway::upstream_params& upstream_;
  const std::vector<std::string>& paths_;
  const milliseconds timeout_;
  asio::io_context io_{1};
  gateway::host_lookup names_;
  gateway::suspect_upstreams suspects_;
  gateway::upstream_pool pool_;
  upstream_poll found_;
};

}  // namespace

std::string_view polled_answer::field(std::string_view name) const {
  for (const auto& [known, value] : fields) {
    if (base::iequals(known, name)) return value;
  }
  return {};
}

upstream_poll poll_upstream(const gateway::upstream_params& upstream,
                            const gateway::gateway_params& params,
                            const std::vector<std::string>& paths) {
  return upstream_polling(upstream, params, paths).run();
}

}  // namespace onceguard::cli::diagnose
