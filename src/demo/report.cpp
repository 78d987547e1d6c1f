#include "demo/report.hpp"

#include <filesystem>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/comma_list.hpp"

namespace onceguard::demo {
namespace {

// How to call this program from the current directory.
std::string program_from_here() {
  const std::filesystem::path program = this_program();
  const auto relative = program.lexically_relative(std::filesystem::current_path());
  const bool below = !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : program.string();
}

class story final : public report {
 public:
  story(std::ostream& out, bool coloured) : out_(out), coloured_(coloured) {}

  void begin(const shop& cards, const guard& limit) override {
    out_ << bold("Onceguard demo") << ": a shop charges cards. It is slow, and answers get lost.\n"
         << "The charges are counted in the shop. It knows nothing of idempotency keys.\n\n"
         << "  shop      http://" << text_of(cards.address()) << "\n"
         << "  gateway   " << limit.command() << "\n"
         << std::flush;
  }

  void add(const scene& played) override {
    out_ << "\n" << bold(fmt::format("{}. {}", ++scenes_, played.title)) << "\n";
    tell("without Onceguard", played.unguarded, played.unguarded.charges > played.guarded.charges);
    tell("with Onceguard", played.guarded, false);
    for (const auto& note : played.notes) out_ << "       " << dim(note) << "\n";
    for (const auto& fault : played.faults) out_ << "   " << red("WRONG: " + fault) << "\n";
    out_ << std::flush;
  }

  void add(const overhead& measured) override {
    out_ << "\n"
         << bold("What it costs") << " (median of 51 requests to a shop that takes no "
         << "time, each durable on disk)\n"
         << fmt::format(
                "   a first request   {:+.2f} ms   ({:.2f} ms straight, {:.2f} ms guarded)\n",
                measured.added(), measured.straight, measured.first)
         << fmt::format(
                "   a repeat          {:+.2f} ms   ({:.2f} ms in all; the shop is not "
                "asked)\n",
                measured.repeat - measured.straight, measured.repeat);
  }

  void end(bool right, const std::optional<std::string>& fault) override {
    if (fault) out_ << "\n" << red("The demo broke off: " + *fault) << "\n";
    out_ << "\n"
         << bold("In front of your own service:") << "\n   " << program_from_here()
         << " gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000 "
         << "--store sqlite:onceguard.db\n\n"
         << (right ? green("Every count is right: each order took effect once.")
                   : red("Not everything was right."))
         << "\n"
         << std::flush;
  }

 private:
  void tell(std::string_view text, const telling& style, bool bad) {
    const auto count =
        fmt::format("{:>3} {:<8}", style.charges, style.charges == 1 ? "charge" : "charges");
    out_ << fmt::format("   {:<18}", text) << (bad ? red(count) : green(count)) << " "
         << base::comma_list(style.seen) << "\n";
  }

  [[nodiscard]] std::string in(std::string_view code, std::string_view text) const {
    return coloured_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  [[nodiscard]] std::string bold(std::string_view text) const { return in("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return in("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return in("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return in("32", text); }

  std::ostream& out_;
  bool coloured_;
  int scenes_ = 0;
};

class json_report final : public report {
 public:
  explicit json_report(std::ostream& out) : out_(out) { all_["scenes"] = json::array(); }

  void begin(const shop& cards, const guard& limit) override {
    all_["shop"] = "http://" + text_of(cards.address());
    all_["gateway"] = "http://" + text_of(limit.address());
    all_["store"] = limit.store_url();
  }

  void add(const scene& played) override {
    json entry;
    entry["title"] = played.title;
    entry["without"] = played_json(played.unguarded);
    entry["with"] = played_json(played.guarded);
    entry["right"] = played.right();
    entry["faults"] = played.faults;
    all_["scenes"].push_back(std::move(entry));
  }

  void add(const overhead& measured) override {
    all_["straight_ms"] = measured.straight;
    all_["first_ms"] = measured.first;
    all_["repeat_ms"] = measured.repeat;
  }

  void end(bool right, const std::optional<std::string>& fault) override {
    all_["right"] = right;
    if (fault) all_["fault"] = *fault;
    out_ << all_.dump(2) << "\n" << std::flush;
  }

 private:
  using json = nlohmann::ordered_json;

  static json played_json(const telling& style) {
    json out;
    out["charges"] = style.charges;
    out["charges_expected"] = style.charges_expected;
    out["seen"] = style.seen;
    return out;
  }

  std::ostream& out_;
  json all_;
};

}  // namespace

std::unique_ptr<report> make_story(std::ostream& out, bool coloured) {
  return std::make_unique<story>(out, coloured);
}

std::unique_ptr<report> make_json_report(std::ostream& out) {
  return std::make_unique<json_report>(out);
}

}  // namespace onceguard::demo
