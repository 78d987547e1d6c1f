// Owners of other libraries' objects.
#pragma once
#include <memory>

namespace onceguard::base {

template <auto Destroy>
struct destroyer {
  template <class T>
  void operator()(T* object) const noexcept {
    Destroy(object);
  }
};

/// `Destroy`: the library's function that frees a T.
template <class T, auto Destroy>
using unique_handle = std::unique_ptr<T, destroyer<Destroy>>;

}  // namespace onceguard::base
