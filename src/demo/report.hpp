// Plays the demo from its first scene to its last, and says what happened.
#pragma once
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "demo/guard.hpp"
#include "demo/scenes.hpp"
#include "demo/shop.hpp"

namespace onceguard::demo {

class report {
 public:
  virtual ~report() = default;
  virtual void begin(const shop& cards, const guard& limit) = 0;
  virtual void add(const scene& played) = 0;
  virtual void add(const overhead& measured) = 0;
  /// Ends the report. `fault` is the error that ended the demo early, if any.
  virtual void end(bool right, const std::optional<std::string>& fault) = 0;
};

/// For a person: line by line during the demo, in colours if `coloured`.
[[nodiscard]] std::unique_ptr<report> make_story(std::ostream& out, bool coloured);
/// For a program: one JSON object at the end.
[[nodiscard]] std::unique_ptr<report> make_json_report(std::ostream& out);

/// Starts a shop and a gateway, plays every scene, cleans up. With `keep`, shop and gateway
/// continue to run until SIGINT or SIGTERM.
/// @return the exit code: 0 only if every count was right
[[nodiscard]] int play(report& report, bool keep);

}  // namespace onceguard::demo
