// Stores by URL. Each store describes itself.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "base/diagnosis.hpp"
#include "store/examination.hpp"

namespace onceguard {

struct store_params {
  std::string url = "sqlite:onceguard.db";
  milliseconds timeout{2'000};  ///< also bounds the opening
  std::size_t connections = 4;  ///< where the store has connections
  /// The keys that answers are encrypted with (see sealed::key_ring); empty: they are kept in the
  /// clear.
  std::string encryption_keys_file{};
  /// The secret that keys are kept with (see read_pepper); empty: they are kept in the clear.
  std::string key_pepper_file{};
  const base::clock* clock = &base::system_clock();
  /// For operators: the records may also be those of `execute`, among the tables of an application.
  /// They are looked at and changed there, and no claim is granted.
  bool of_application = false;
  /// For a process that opens the store for a moment: what may wait, such as the end of a short
  /// log, is left to the next one.
  bool for_a_moment = false;
  /// For a command that shows a person what is there. What a disk has in memory and can't write is
  /// shown, too, and only acts on it fail.
  bool for_people = false;
  /// No keys come into the store by this process: it need not be marked with the pepper.
  bool takes_no_keys = false;
  /// Encrypted answers and keys are given and taken as they are stored, without the secrets.
  bool answers_as_stored = false;
};

/// What a store is, as far as that is known without opening it. All texts and pointers are
/// constants.
struct store_kind {
  /// What a restore has done.
  struct restored {
    std::string file;    ///< the store
    std::string former;  ///< the new name of what was there before; empty: nothing was
  };

  /// What a migration has done.
  struct migrated {
    int former = 0;          ///< the version of the schema; 0: there was none
    int version = 0;         ///< above this version's: a newer one that this version may use
    bool functions = false;  ///< the functions were not those of this version
  };
  /// A schema that is made by a command, before the store is opened.
  struct schema_tools {
    /// Brings the schema to this version's. `finish`: only versions that know all of it may use it
    /// from now on. Blocks. errc::conflict: it is that of a newer version, which this version may
    /// not use; errc::store_unreachable: also a permission that is missing, and how to grant it.
    result<migrated> (*migrate)(const store_params& params, bool finish);
    /// The statements of a new schema, for those who apply them themselves. Null: there are none.
    std::string (*script)(bool finish);
  };

  std::span<const std::string_view> schemes;  ///< of its URLs, without the colon
  int position = 0;                           ///< in lists of stores, for people
  std::string_view example;                   ///< a URL, for people
  std::string_view library{};  ///< the file that it can't do without, as in base::library_fault
  store_traits traits;
  bool takes_accelerator = false;  ///< it may stand behind one
  bool answers_queries = false;    ///< the query of [reconcile] may ask its database
  bool made_when_missing = false;  ///< opening it makes what is not there
  /// A claim shows in the generation of the vitals so much later, at most.
  milliseconds generation_lag{0};

  /// Opens the store; blocks. errc::invalid_argument: the URL, or what it names, can't be right.
  /// errc::store_lost: what is there is damaged, and a person decides how to go on. After other
  /// errors, which say what is missing, a later call may succeed.
  result<std::unique_ptr<store>> (*open)(const store_params& params) = nullptr;
  /// The file or folder of this machine that the records are in. Null: there is none.
  std::string (*file_of)(std::string_view url) = nullptr;
  /// Why the URL can't be right; empty: it may be. Never repeats the URL, which may hold a
  /// password.
  std::string (*url_fault)(std::string_view url) = nullptr;
  /// Why a store of this URL can't be an accelerator; empty: it can. Null: none of this kind can.
  std::string (*accelerator_fault)(std::string_view url) = nullptr;
  /// Why another process can't read what is stored there; empty: it can. Null: it always can.
  std::string (*unreadable_from_outside)(const std::string& url) = nullptr;
  /// Writes a copy of the store into the new file `target`, also while others use the store.
  /// Null: its database has tools for that.
  result<void> (*back_up)(const store_params& params, const std::string& target) = nullptr;
  /// Replaces the store, which nobody may use meanwhile, by the copy in the file `source`.
  result<restored> (*restore)(const store_params& params, const std::string& source) = nullptr;
  /// Reads all of the copy at `path`, which nobody has open, and says for people how it was found.
  /// errc::invalid_argument, errc::store_lost: it is none, or damaged.
  result<std::string> (*check_copy)(const std::string& path) = nullptr;
  /// Makes the index by key, which searches by key use and each claim pays for, or drops it;
  /// nothing if that was done before. Blocks. Null: there is none of this kind.
  result<void> (*index_keys)(const store_params& params, bool drop) = nullptr;
  /// Null: opening the store makes all that it needs.
  const schema_tools* schema = nullptr;
  /// Looks at the place where the records are, and at what keeps them: whether the store can be
  /// opened, and what weakens its promises. Blocks, for some `params.timeout`. Makes no file and no
  /// schema. Null: there is nothing to be found.
  base::diagnoses (*examine)(const store_params& params, store_role role) = nullptr;
};

class store_registry {
 public:
  explicit store_registry(std::vector<const store_kind*> kinds) : kinds_(std::move(kinds)) {}

  /// The store that the URL's scheme names; null: none that this program was built with.
  [[nodiscard]] const store_kind* kind_of(std::string_view url) const noexcept;
  [[nodiscard]] const std::vector<const store_kind*>& kinds() const noexcept { return kinds_; }
  /// Why the URL can't be right; empty: it may be.
  [[nodiscard]] std::string url_fault(std::string_view url) const;
  /// Why the URL can't be that of an accelerator; empty: it may be.
  [[nodiscard]] std::string accelerator_fault(std::string_view url) const;
  /// The URLs of stores that `fits`, for people: "A", "B" or "C".
  [[nodiscard]] std::string examples(bool (*fits)(const store_kind&)) const;
  /// Its answers are sealed and opened (see sealed::sealed_store), and its keys are those of the
  /// pepper (see check_pepper).
  [[nodiscard]] result<std::unique_ptr<store>> open(const store_params& params) const;

 private:
  const std::vector<const store_kind*> kinds_;
};

/// The store with what the secrets of `params` do: what store_registry::open gives.
[[nodiscard]] result<std::unique_ptr<store>> with_secrets(std::unique_ptr<store> opened,
                                                          const store_params& params);

}  // namespace onceguard
