// One connection to the server: made, set up, then used for as many commands at a time as there
// are. Belongs to the thread that runs its io_context.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/watchdog.hpp"
#include "store/redis/failure.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/request.hpp"
#include "store/redis/server_facts.hpp"
#include "store/redis/socket.hpp"

namespace onceguard::redis {

class link;

/// What a process knows of the store: whose memory it is, and how far it had come.
struct known_store {
  std::string identity;
  std::string run;
  std::uint64_t generation = 0;
};

/// What a server said when a link was made.
struct greeting {
  server_facts facts;
  std::string identity;
  std::uint64_t generation = 0;
  std::int64_t now = 0;
  bool lost = false;  ///< a part is missing of what this process had seen
};

class link_events {
 public:
  [[nodiscard]] virtual const known_store& known() const noexcept = 0;
  virtual void on_greeting(const greeting& said) = 0;
  virtual void on_generation(std::uint64_t generation) = 0;
  /// It takes commands now.
  virtual void on_ready(link& of) = 0;
  /// It is closed, and everything that was on its way has been told.
  virtual void on_lost(link& of, const failure& why) = 0;
  /// This one has its answer.
  virtual void on_ended(entry ended) = 0;
  /// It has none, and `doubtful` says whether it may have been carried out.
  virtual void on_returned(link& of, entry back, const failure& why) = 0;
  /// Some replies have come, all told: more may be sent.
  virtual void on_progress(link& of) = 0;

 protected:
  ~link_events() = default;
};

/// What all links of a pool share; it outlives them.
struct link_surroundings {
  boost::asio::io_context& context;
  link_events& events;
  const redis_params& params;
  const address& at;
  const keyspace& names;
  boost::asio::ssl::context* tls;
};

class link final : private base::deadline {
 public:
  explicit link(const link_surroundings& in) : in_(in) {}
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  [[nodiscard]] bool closed() const noexcept { return phase_ == phase::closed; }
  [[nodiscard]] bool ready() const noexcept { return phase_ == phase::ready; }
  /// How many more commands it takes now.
  [[nodiscard]] std::size_t room() const noexcept;

  /// Closed: begins to connect. Ends in `on_ready` or `on_lost`, never from within.
  void open();
  /// Ready: puts it behind the others; `flush` sends them.
  void send(entry what);
  void flush();
  /// Ends it; `on_lost` follows, never from within.
  void close(failure why);

 private:
  enum class phase : std::uint8_t { closed, opening, ready };
  struct waiting {
    entry of;             ///< nobody: a command of the link's own
    bool wait = false;    ///< WAIT, whose reply says what became of those before it
    bool undone = false;  ///< the server said that it has not carried it out
  };

  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> live();
  [[nodiscard]] boost::asio::awaitable<void> write_all();

  // setting up; what goes wrong is thrown
  [[nodiscard]] boost::asio::awaitable<void> set_up();
  [[nodiscard]] boost::asio::awaitable<reply_ptr> ask(std::string command);
  [[nodiscard]] boost::asio::awaitable<void> log_in();
  [[nodiscard]] boost::asio::awaitable<server_facts> ask_facts();
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> ask_setting(const char* name);
  [[nodiscard]] boost::asio::awaitable<void> load_scripts();
  [[nodiscard]] std::string greeting_command(const server_facts& facts) const;
  [[nodiscard]] boost::asio::awaitable<greeting> greet(const server_facts& facts);

  // replies
  [[nodiscard]] boost::asio::awaitable<std::size_t> receive();
  [[nodiscard]] reply_ptr next_reply();
  void take_replies();
  void take(reply_ptr got);
  void take_wait(const reply& said);
  void conclude(entry of, reply_ptr got);
  void note_generation(const reply& said);
  void return_all();

  const link_surroundings in_;
  phase phase_ = phase::closed;
  std::optional<socket> socket_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{nullptr, redisReaderFree};
  std::array<char, 65'536> buffer_{};
  script_calls calls_;
  std::optional<failure> why_;  // it was closed
  int running_ = 0;             // coroutines
  std::string outgoing_;        // to be written next
  std::string writing_;         // being written
  std::deque<waiting> sent_;
  std::size_t unconfirmed_ = 0;                    // sent behind the last WAIT
  std::vector<std::pair<entry, reply_ptr>> held_;  // replied, and waiting for their WAIT
  std::uint64_t generation_ = 0;                   // the last that this connection was told
};

}  // namespace onceguard::redis
