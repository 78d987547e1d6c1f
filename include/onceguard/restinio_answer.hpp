// How an answer of RESTinio is kept until its outcome is recorded: the inside of
// onceguard/restinio.hpp.
#pragma once
// RESTinio uses the Asio that is there: its own one, or Boost's, as Onceguard does.
#if !defined(RESTINIO_USE_BOOST_ASIO) && !__has_include(<asio.hpp>)
#define RESTINIO_USE_BOOST_ASIO
#endif
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <restinio/request_handler.hpp>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>

#include <onceguard/http.hpp>

namespace onceguard::restinio {
inline namespace v1 {
namespace detail {

using client_handle = ::restinio::impl::connection_handle_t;
using flags = ::restinio::response_output_flags_t;
using ::restinio::request_handling_status_t;
using ::restinio::write_group_t;

inline std::string_view trimmed(std::string_view text) noexcept {
  const auto begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Sends an answer of the middleware's own.
inline void send(client_handle client, ::restinio::request_id_t id, bool keep_alive,
                 http::response made) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(made.status));
  ::restinio::response_builder_t<::restinio::restinio_controlled_output_t> out(
      {::restinio::http_status_code_t(made.status), std::string(reason)}, std::move(client), id,
      keep_alive);
  for (auto& [name, value] : made.headers) out.append_header(std::move(name), std::move(value));
  out.set_body(std::move(made.body)).done();
}

/// The first part of an answer, which has its head as RESTinio wrote it.
class first_part {
 public:
  /// Reads the head.
  first_part(flags marks, write_group_t group) : marks_(marks), group_(std::move(group)) {
    auto rest = text_of(group_.items().front());
    rest.remove_suffix(std::min<std::size_t>(rest.size(), 2));  // the empty line
    constexpr std::size_t status_begin = 9;                     // behind "HTTP/1.1 "
    for (const char digit : rest.substr(status_begin, 3)) {
      status_ = static_cast<std::uint16_t>(10 * status_ + (digit - '0'));
    }
    for (auto end = rest.find("\r\n"); end + 2 < rest.size(); end = rest.find("\r\n")) {
      rest.remove_prefix(end + 2);
      const auto line = rest.substr(0, rest.find("\r\n"));
      const auto colon = std::min(line.find(':'), line.size());
      const auto value = line.substr(std::min(colon + 1, line.size()));
      fields_.push_back({line.substr(0, colon), trimmed(value)});
    }
  }

  /// The answer; without a body if more is to come, if it is in chunks, or over the limit.
  http::answer_view view(std::size_t limit) {
    http::answer_view out{status_, fields_, std::nullopt};
    auto& items = group_.items();
    std::size_t size = 0;
    for (std::size_t i = 1; i < items.size(); ++i) size += items[i].size();
    const bool whole = marks_.m_response_parts == ::restinio::response_parts_attr_t::final_parts &&
                       !has("Transfer-Encoding") && size <= limit;
    if (whole && read_body()) out.body = body_;
    return out;
  }

  /// Sends it, without what is not for clients.
  void send(::restinio::impl::connection_base_t& client, ::restinio::request_id_t id) {
    if (has(replay_mark) || has(outcome_word)) drop_marks();
    client.write_response_parts(id, marks_, std::move(group_));
  }

 private:
  static constexpr const char* replay_mark = "Idempotent-Replayed";
  static constexpr const char* outcome_word = "Onceguard-Outcome";

  static std::string_view text_of(const ::restinio::writable_item_t& item) {
    const auto bytes = item.buf();
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool has(std::string_view name) const {
    return std::any_of(fields_.begin(), fields_.end(), [name](const field& header) {
      return boost::beast::iequals({header.name.data(), header.name.size()},
                                   {name.data(), name.size()});
    });
  }

  /// False: a file is shorter than its answer says, or can't be read.
  bool read_body() {
    auto& items = group_.items();
    for (std::size_t i = 1; i < items.size(); ++i) {
      if (items[i].write_type() == ::restinio::writable_item_type_t::trivial_write_operation) {
        body_ += text_of(items[i]);
      } else if (!read_file(items[i].sendfile_operation())) {
        return false;
      }
    }
    return true;
  }

  bool read_file(const ::restinio::sendfile_t& file) {
    const auto begin = body_.size();
    body_.resize(begin + file.size());
    for (std::size_t done = 0; done < file.size();) {
      const auto got = ::pread(file.file_descriptor(), body_.data() + begin + done,
                               file.size() - done, file.offset() + static_cast<off_t>(done));
      if (got <= 0) return false;
      done += static_cast<std::size_t>(got);
    }
    return true;
  }

  void drop_marks() {
    const auto text = text_of(group_.items().front());
    std::string head(text.substr(0, text.find("\r\n") + 2));
    for (const auto& header : fields_) {
      const boost::beast::string_view name(header.name.data(), header.name.size());
      if (boost::beast::iequals(name, replay_mark)) continue;
      if (boost::beast::iequals(name, outcome_word)) continue;
      head.append(header.name).append(": ").append(header.value).append("\r\n");
    }
    fields_.clear();
    group_.items().front() = ::restinio::writable_item_t(head += "\r\n");
  }

  flags marks_;
  write_group_t group_;
  std::uint16_t status_ = 0;
  std::vector<field> fields_;  // views of the group's first item
  std::string body_;
};

/// The connection as the handler knows it: keeps its answer until the outcome is recorded, then
/// passes the answer on. Thread-safe.
class answer_gate final : public ::restinio::impl::connection_base_t {
 public:
  /// `client` is the connection itself.
  answer_gate(client_handle client, ::restinio::request_id_t id, bool keep_alive,
              http::exchange running, boost::asio::any_io_executor executor)
      : connection_base_t(client->connection_id()),
        client_(std::move(client)),
        id_(id),
        keep_alive_(keep_alive),
        running_(std::move(running)),
        executor_(std::move(executor)) {}

  /// Only until the answer.
  http::exchange& running() noexcept { return running_; }

  /// Does nothing: the connection itself has timeouts.
  void check_timeout(std::shared_ptr<tcp_connection_ctx_base_t>&) override {}

  /// The first part ends the exchange.
  void write_response_parts(::restinio::request_id_t, flags marks, write_group_t group) override {
    std::unique_lock lock(mutex_);
    if (phase_ == phase::replaced) return;
    if (phase_ == phase::passing) {
      lock.unlock();
      return client_->write_response_parts(id_, marks, std::move(group));
    }
    parts_.emplace_back(marks, std::move(group));
    if (std::exchange(phase_, phase::busy) == phase::busy) return;
    lock.unlock();
    boost::asio::co_spawn(executor_, finish(shared_from_concrete<answer_gate>()), rethrow);
  }

  /// Calls the handler, and ends the exchange if it threw, refused, or has answered. Otherwise its
  /// answer will do so.
  template <class Handler>
  static boost::asio::awaitable<void> run(std::shared_ptr<answer_gate> gate, Handler handler) {
    std::exception_ptr thrown;
    auto status = request_handling_status_t::rejected;
    try {
      status = handler();
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) {
      gate->replace(co_await gate->running_.async_fail(thrown));
    } else if (status != request_handling_status_t::accepted) {
      http::response refusal;
      refusal.status = 501;
      gate->replace(co_await gate->running_.async_finish(std::move(refusal)));
    } else if (gate->has_answer()) {
      co_await finish(std::move(gate));
    }
  }

  /// Completion handler: what fails here is thrown to whoever runs the executor.
  static void rethrow(std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  enum class phase : std::uint8_t {
    busy,      // the handler runs, or the outcome is being recorded
    late,      // the handler has returned, and will answer
    passing,   // the outcome is recorded: what comes passes
    replaced,  // the client gets something else
  };

  static boost::asio::awaitable<void> finish(std::shared_ptr<answer_gate> gate) {
    auto first = gate->take_first();
    const auto shown = first.view(gate->running_.answer_limit());
    if (auto instead = co_await gate->running_.async_finish(shown)) {
      gate->replace(std::move(*instead));
    } else {
      first.send(*gate->client_, gate->id_);
      gate->pass();
    }
  }

  bool has_answer() {
    const std::lock_guard lock(mutex_);
    if (parts_.empty()) phase_ = phase::late;
    return !parts_.empty();
  }

  first_part take_first() {
    const std::lock_guard lock(mutex_);
    auto [marks, group] = std::move(parts_.front());
    parts_.erase(parts_.begin());
    return {marks, std::move(group)};
  }

  /// Sends the parts that came meanwhile, in their order, and lets later ones pass. A part's
  /// notification may add another one.
  void pass() {
    for (;;) {
      std::vector<std::pair<flags, write_group_t>> parts;
      {
        const std::lock_guard lock(mutex_);
        if (parts_.empty()) {
          phase_ = phase::passing;
          return;
        }
        parts.swap(parts_);
      }
      for (auto& [marks, group] : parts) {
        client_->write_response_parts(id_, marks, std::move(group));
      }
    }
  }

  void replace(http::response made) {
    std::vector<std::pair<flags, write_group_t>> dropped;  // notifies of their end
    {
      const std::lock_guard lock(mutex_);
      phase_ = phase::replaced;
      dropped.swap(parts_);
    }
    detail::send(client_, id_, keep_alive_, std::move(made));
  }

  const client_handle client_;
  const ::restinio::request_id_t id_;
  const bool keep_alive_;
  http::exchange running_;
  const boost::asio::any_io_executor executor_;
  std::mutex mutex_;
  phase phase_ = phase::busy;
  std::vector<std::pair<flags, write_group_t>> parts_;  // not sent yet
};

}  // namespace detail
}  // namespace v1
}  // namespace onceguard::restinio
