#include "consume/endpoint_connections.hpp"

#include <utility>

#include "http1/message.hpp"

namespace onceguard::consume {
namespace {

using messaging::moment;

constexpr std::size_t answer_size_max = 64u << 20;
constexpr std::size_t read_size = 16u << 10;
/// Servers close idle connections after seconds: one that was idle for less is not yet at its end.
constexpr milliseconds idle_max{1'000};

error no_answer(std::string why, effect known) {
  return {errc::broker_unreachable, std::move(why), known};
}

}  // namespace

class endpoint_connections::connection {
 public:
  connection() { reader_.answers_to("POST"); }

  messaging::tcp_socket socket;
  moment last_use{};

  /// Nothing came that nobody asked for, the end least of all.
  [[nodiscard]] bool is_quiet() {
    std::array<char, 1> byte{};
    const auto count = socket.read(byte);
    return count && *count == 0;
  }

  [[nodiscard]] result<http1::answer> exchange(std::string_view request, moment until) {
    rest_ = request;
    while (true) {
      if (auto done = advance(); !done) return failed(done.error());
      if (received_) return std::move(*received_);
      if (base::boot_now() >= until) {
        return no_answer("no answer in time", sent_ ? effect::unknown : effect::none);
      }
      socket.wait(!rest_.empty(), until);
    }
  }

  /// Whether another request may follow the answer.
  [[nodiscard]] bool may_be_kept() const noexcept { return keep_ && rest_.empty(); }
  [[nodiscard]] bool has_sent() const noexcept { return sent_; }
  void begin_anew() {
    reader_.reset();
    reader_.answers_to("POST");
    received_.reset();
    head_ = {};
    sent_ = keep_ = false;
    last_use = base::boot_now();
  }

 private:
  /// An endpoint that refuses our certificate does so before it reads what was sent behind it.
  [[nodiscard]] error failed(const error& why) const {
    const bool arrived = sent_ && !socket.was_refused();
    return no_answer(why.detail, arrived ? effect::unknown : effect::none);
  }

  /// Sends and reads what is possible without a wait. A server may answer, and stop reading or
  /// close, before it has read everything: the answer counts.
  [[nodiscard]] result<void> advance() {
    std::optional<error> unsent;
    while (!rest_.empty()) {
      const auto count = socket.write(rest_);
      if (!count) unsent = count.error();
      if (!count || *count == 0) break;
      sent_ = true;
      rest_.remove_prefix(*count);
    }
    auto came = read();
    if (came && unsent && !received_) return *unsent;
    return came;
  }

  [[nodiscard]] result<void> read() {
    while (!received_) {
      auto step = reader_.next();
      if (step == http1::progress::need_more) {
        const auto room = reader_.prepare(read_size);
        const auto count = socket.read(room);
        if (count && *count == 0) return {};
        if (count) {
          reader_.commit(*count);
          continue;
        }
        step = reader_.end_of_input();
        if (step == http1::progress::need_more) return count.error();
        if (step == http1::progress::error) return error(errc::conflict, "the answer broke off");
      }
      if (auto taken = take(step); !taken) return taken;
    }
    return {};
  }

  [[nodiscard]] result<void> take(http1::progress step) {
    switch (step) {
      case http1::progress::head:
        head_.status = reader_.head().status;
        head_.fields.clear();
        for (const auto& one : reader_.head().fields)
          head_.fields.emplace_back(one.name, one.value);
        keep_ = reader_.head().keep_alive && reader_.head().body != http1::body_kind::until_eof;
        return {};
      case http1::progress::body:
        head_.body += reader_.body();
        if (head_.body.size() > answer_size_max) return error(errc::conflict, "a long answer came");
        return {};
      case http1::progress::end:
        // Nobody asked for another protocol: what follows is none of HTTP, and no answer.
        if (head_.status == 101) return error(errc::conflict, "101 came, and no answer");
        if (head_.status >= 200) {
          received_ = std::move(head_);
        } else {
          reader_.reset();
        }
        return {};
      case http1::progress::need_more:
      case http1::progress::error:
        break;
    }
    return error(errc::conflict, "no HTTP answer came");
  }

  http1::reader reader_{http1::reader::kind::answer, http1::limits{}};
  std::string_view rest_;  ///< of the request: what was not sent yet
  http1::answer head_;     ///< as far as it came
  std::optional<http1::answer> received_;
  bool sent_ = false;
  bool keep_ = false;
};

endpoint_connections::endpoint_connections(base::endpoint address, tls::client_files files)
    : address_(std::move(address)), files_(std::move(files)) {}

endpoint_connections::~endpoint_connections() = default;

endpoint_connections::connection_ptr endpoint_connections::take_kept() {
  const std::lock_guard lock(mutex_);
  const auto oldest = base::boot_now() - idle_max;
  while (!kept_.empty()) {
    auto last = std::move(kept_.back());
    kept_.pop_back();
    if (last->last_use <= oldest) {
      kept_.clear();  // the others were used before
    } else if (last->is_quiet()) {
      return last;
    }
  }
  return nullptr;
}

result<tls::context> endpoint_connections::context() {
  const std::lock_guard lock(mutex_);
  if (!context_) {
    auto made = tls::make_client_context(files_);
    if (!made) return made.error();
    context_ = *std::move(made);
  }
  return context_;
}

void endpoint_connections::forget_context() {
  const std::lock_guard lock(mutex_);
  context_.reset();
}

result<endpoint_connections::connection_ptr> endpoint_connections::connect(moment until) {
  tls::context settings;
  if (address_.secure) {
    auto made = context();
    if (!made) return made.error();
    settings = *std::move(made);
  }
  auto out = std::make_unique<connection>();
  if (auto done = out->socket.connect(address_.host, address_.port, until); !done) {
    return done.error();
  }
  if (!settings) return out;
  const auto& name = files_.name.empty() ? address_.host : files_.name;
  if (auto done = out->socket.secure(settings, name, until); !done) {
    forget_context();
    return done.error();
  }
  return out;
}

result<http1::answer> endpoint_connections::exchange(connection_ptr used, std::string_view request,
                                                     moment until) {
  auto answer = used->exchange(request, until);
  if (used->socket.was_refused()) forget_context();
  if (!answer || !used->may_be_kept()) return answer;
  used->begin_anew();
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(used));
  return answer;
}

result<http1::answer> endpoint_connections::post(std::string_view request, milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const auto failed = [this](const error& why) {
    return error(why.code, base::text_of(address_) + ": " + why.detail, why.effect);
  };
  if (auto kept = take_kept()) {
    auto answer = exchange(std::move(kept), request, until);
    if (answer) return answer;
    if (answer.error().effect != effect::none) return failed(answer.error());
  }
  auto made = connect(until);
  if (!made) return failed(error(errc::broker_unreachable, made.error().detail));
  auto answer = exchange(*std::move(made), request, until);
  if (!answer) return failed(answer.error());
  return answer;
}

}  // namespace onceguard::consume
