#include "demo/guard.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "base/number_in.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {
namespace {

constexpr std::chrono::seconds patience{10};

}  // namespace

temporary_folder::temporary_folder() {
  auto pattern = (std::filesystem::temp_directory_path() / "onceguard-demo-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make " + pattern);
  }
  path_ = pattern;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// Reads the log lines of a starting gateway. Shared with the coroutine that reads the lines.
struct guard::listening {
  explicit listening(const asio::any_io_executor& executor) : report_timer(executor, patience) {}
  void read(std::optional<std::string_view> line) {
    const auto entry = nlohmann::json::parse(line.value_or("{}"), nullptr, false);
    if (base::text_in(entry, "event") == "listening") {
      address = base::text_in(entry, "address");
    } else if (base::text_in(entry, "event") == "admin-listening") {
      admin_address = base::text_in(entry, "address");
    } else if (line && !address) {
      log.append(*line).append("\n");
    }
    if (!line || address) report_timer.cancel();
  }
  asio::steady_timer report_timer;  // cancelled when the gateway listens, otherwise expires
  std::optional<std::string> address;
  std::string admin_address;
  std::string log;
};

guard::guard(const asio::any_io_executor& executor, base::endpoint upstream, bool page)
    : executor_(executor), upstream_(std::move(upstream)), page_(page) {}

std::string guard::admin_address() const {
  return startup_ ? startup_->admin_address : std::string();
}

std::string guard::audit_file() const { return (folder_.path() / "audit.jsonl").string(); }

std::string guard::store_url() const { return "sqlite:" + (folder_.path() / "keys.db").string(); }

// A short lease and timeout, so that the scene with the killed gateway takes only a second or two.
std::vector<std::string> guard::arguments() const {
  std::vector<std::string> out{
      "gateway", "--listen",  text_of(address_), "--upstream", "http://" + text_of(upstream_),
      "--store", store_url(), "--lease",         "1s",         "--upstream-timeout",
      "1s"};
  if (page_) {
    out.insert(out.end(), {"--admin", "127.0.0.1:0", "--metrics-records-interval", "5s"});
    out.insert(out.end(), {"--audit-log", audit_file()});
  }
  return out;
}

std::string guard::command() const {
  std::string out = "onceguard";
  for (const auto& word : arguments()) out += " " + word;
  return out;
}

asio::awaitable<void> guard::start() {
  const auto answered = std::make_shared<listening>(executor_);
  startup_ = answered;
  process_ = std::make_unique<child>(executor_, arguments(),
                                     [answered](auto line) { answered->read(line); });
  if (!answered->address) co_await answered->report_timer.async_wait(quietly);
  if (!answered->address) throw std::runtime_error("the gateway did not start:\n" + answered->log);
  const auto& text = *answered->address;
  const auto port = text.find_last_of(':') + 1;
  address_.port = base::number_in<std::uint16_t>(std::string_view(text).substr(port)).value_or(0);
}

asio::awaitable<command_result> guard::command_beside(std::vector<std::string> arguments) const {
  arguments.emplace_back("--store");
  arguments.push_back(store_url());
  co_return co_await run_command(arguments);
}

}  // namespace onceguard::demo
