#include "http1/client/client.hpp"

#include <array>
#include <optional>

#include "http1/message.hpp"

namespace onceguard::http1 {
namespace {

using tls::moment;

constexpr std::size_t read_size = 16u << 10;
/// Servers close idle connections after seconds: one that was idle for less is not yet at its end.
constexpr milliseconds idle_max{1'000};

error no_answer(const error& why, effect known) {
  const auto code = why.code == errc::conflict ? errc::conflict : errc::not_found;
  return {code, why.detail, known};
}

}  // namespace

class client::connection {
 public:
  explicit connection(std::size_t answer_size_max) : answer_size_max_(answer_size_max) {}

  tls::blocking_socket socket;
  moment last_use{};

  /// Nothing came that nobody asked for, the end least of all.
  [[nodiscard]] bool is_quiet() {
    std::array<char, 1> byte{};
    const auto count = socket.read(byte);
    return count && *count == 0;
  }

  [[nodiscard]] result<answer> exchange(std::string_view method, std::string_view request,
                                        moment until) {
    reader_.answers_to(method);
    rest_ = request;
    while (true) {
      if (auto done = advance(); !done) return failed(done.error());
      if (received_) return std::move(*received_);
      if (base::boot_now() >= until) {
        return failed(error(errc::not_found, "no answer in time"));
      }
      socket.wait(!rest_.empty(), until);
    }
  }

  /// Whether another request may follow the answer.
  [[nodiscard]] bool may_be_kept() const noexcept { return keep_ && rest_.empty(); }
  void begin_anew() {
    reader_.reset();
    received_.reset();
    head_ = {};
    sent_ = keep_ = false;
    last_use = base::boot_now();
  }

 private:
  /// An endpoint that refuses our certificate does so before it reads what was sent behind it.
  [[nodiscard]] error failed(const error& why) const {
    const bool arrived = sent_ && !socket.was_refused();
    return no_answer(why, arrived ? effect::unknown : effect::none);
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
      if (step == progress::need_more) {
        const auto room = reader_.prepare(read_size);
        const auto count = socket.read(room);
        if (count && *count == 0) return {};
        if (count) {
          reader_.commit(*count);
          continue;
        }
        step = reader_.end_of_input();
        if (step == progress::need_more) return count.error();
        if (step == progress::error) return error(errc::conflict, "the answer broke off");
      }
      if (auto taken = take(step); !taken) return taken;
    }
    return {};
  }

  [[nodiscard]] result<void> take(progress step) {
    switch (step) {
      case progress::head:
        head_.status = reader_.head().status;
        head_.fields.clear();
        for (const auto& one : reader_.head().fields)
          head_.fields.emplace_back(one.name, one.value);
        keep_ = reader_.head().keep_alive && reader_.head().body != body_kind::until_eof;
        return {};
      case progress::body:
        head_.body += reader_.body();
        if (head_.body.size() > answer_size_max_)
          return error(errc::conflict, "a long answer came");
        return {};
      case progress::end:
        // Nobody asked for another protocol: what follows is none of HTTP, and no answer.
        if (head_.status == 101) return error(errc::conflict, "101 came, and no answer");
        if (head_.status >= 200) {
          received_ = std::move(head_);
        } else {
          reader_.reset();
        }
        return {};
      case progress::need_more:
      case progress::error:
        break;
    }
    return error(errc::conflict, "no HTTP answer came");
  }

  const std::size_t answer_size_max_;
  reader reader_{reader::kind::answer, limits{}};
  std::string_view rest_;  ///< of the request: what was not sent yet
  answer head_;            ///< as far as it came
  std::optional<answer> received_;
  bool sent_ = false;
  bool keep_ = false;
};

client::client(base::server_address address, tls::client_files files, std::size_t answer_size_max)
    : address_(std::move(address)), files_(std::move(files)), answer_size_max_(answer_size_max) {}

client::~client() = default;

client::connection_ptr client::take_kept() {
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

result<tls::context> client::context() {
  const std::lock_guard lock(mutex_);
  if (!context_) {
    auto made = tls::make_client_context(files_);
    if (!made) return made.error();
    context_ = *std::move(made);
  }
  return context_;
}

void client::forget_context() {
  const std::lock_guard lock(mutex_);
  context_.reset();
}

result<client::connection_ptr> client::connect(moment until) {
  auto out = std::make_unique<connection>(answer_size_max_);
  if (address_.is_socket()) {
    if (auto done = out->socket.connect_local(address_.socket_path, until); !done)
      return done.error();
    return out;
  }
  const auto& peer = address_.tcp;
  tls::context settings;
  if (peer.secure) {
    auto made = context();
    if (!made) return made.error();
    settings = *std::move(made);
  }
  if (auto done = out->socket.connect(peer.host, peer.port, until); !done) return done.error();
  if (!settings) return out;
  if (auto done =
          out->socket.secure(settings, files_.name.empty() ? peer.host : files_.name, until);
      !done) {
    forget_context();
    return done.error();
  }
  return out;
}

result<answer> client::exchange_on(connection_ptr used, std::string_view method,
                                   std::string_view request, moment until) {
  auto answer = used->exchange(method, request, until);
  if (used->socket.was_refused()) forget_context();
  if (!answer || !used->may_be_kept()) return answer;
  used->begin_anew();
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(used));
  return answer;
}

result<answer> client::exchange(std::string_view method, std::string_view request,
                                milliseconds timeout) {
  const auto until = base::boot_now() + timeout;
  const auto failed = [this](const error& why) {
    return error(why.code, address_.text() + ": " + why.detail, why.effect);
  };
  if (auto kept = take_kept()) {
    auto answer = exchange_on(std::move(kept), method, request, until);
    if (answer) return answer;
    // On another connection only what can't have arrived: no request is sent twice by itself.
    if (answer.error().effect != effect::none) return failed(answer.error());
  }
  auto made = connect(until);
  if (!made) return failed(no_answer(made.error(), effect::none));
  auto answer = exchange_on(*std::move(made), method, request, until);
  if (!answer) return failed(answer.error());
  return answer;
}

}  // namespace onceguard::http1
