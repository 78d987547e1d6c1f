# Everything comes from Debian 12 packages; nothing is vendored or downloaded.
# A missing one is an error here, never a feature that silently goes away.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL)
find_package(SQLite3 3.40 REQUIRED)
find_package(PostgreSQL 15 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(CURL 7.85 REQUIRED)  # of the room client_curl alone
find_package(tomlplusplus 3.3 QUIET)

# Boost.Asio and Boost.System are used header-only.
find_path(ONCEGUARD_BOOST_INCLUDE boost/asio.hpp REQUIRED)
add_library(onceguard_asio INTERFACE)
target_include_directories(onceguard_asio SYSTEM INTERFACE ${ONCEGUARD_BOOST_INCLUDE})
target_compile_definitions(onceguard_asio INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE)
target_link_libraries(onceguard_asio INTERFACE Threads::Threads)

find_path(ONCEGUARD_TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(onceguard_toml INTERFACE)
target_include_directories(onceguard_toml SYSTEM INTERFACE ${ONCEGUARD_TOML_INCLUDE})

# xxHash, compiled in: nothing of it is needed at run time.
find_path(ONCEGUARD_XXHASH_INCLUDE xxhash.h REQUIRED)
add_library(onceguard_xxhash INTERFACE)
target_include_directories(onceguard_xxhash SYSTEM INTERFACE ${ONCEGUARD_XXHASH_INCLUDE})

# prometheus-cpp: the model of metrics and its text form only.
find_path(ONCEGUARD_PROMETHEUS_INCLUDE prometheus/text_serializer.h REQUIRED)
find_library(ONCEGUARD_PROMETHEUS prometheus-cpp-core REQUIRED)
add_library(onceguard_prometheus INTERFACE)
target_include_directories(onceguard_prometheus SYSTEM INTERFACE ${ONCEGUARD_PROMETHEUS_INCLUDE})
target_link_libraries(onceguard_prometheus INTERFACE ${ONCEGUARD_PROMETHEUS})

# hiredis: its reader of replies only.
find_path(ONCEGUARD_HIREDIS_INCLUDE hiredis/read.h REQUIRED)
find_library(ONCEGUARD_HIREDIS hiredis REQUIRED)
add_library(onceguard_hiredis INTERFACE)
target_include_directories(onceguard_hiredis SYSTEM INTERFACE ${ONCEGUARD_HIREDIS_INCLUDE})
target_link_libraries(onceguard_hiredis INTERFACE ${ONCEGUARD_HIREDIS})

# llhttp, the HTTP parser of Node.js: Debian ships its C sources in node-llhttp.
find_path(ONCEGUARD_LLHTTP_INCLUDE llhttp.h PATH_SUFFIXES llhttp REQUIRED
          PATHS /usr/share/include)
find_path(ONCEGUARD_LLHTTP_SOURCE llhttp.c PATHS /usr/share/llhttp REQUIRED)
add_library(onceguard_llhttp STATIC
  ${ONCEGUARD_LLHTTP_SOURCE}/api.c
  ${ONCEGUARD_LLHTTP_SOURCE}/http.c
  ${ONCEGUARD_LLHTTP_SOURCE}/llhttp.c)
target_include_directories(onceguard_llhttp SYSTEM PUBLIC ${ONCEGUARD_LLHTTP_INCLUDE})
target_compile_definitions(onceguard_llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(onceguard_llhttp PRIVATE -w -O2)
set_target_properties(onceguard_llhttp PROPERTIES UNITY_BUILD OFF)
if(ONCEGUARD_SANITIZE)
  target_compile_options(onceguard_llhttp PRIVATE -fsanitize=${ONCEGUARD_SANITIZE})
endif()

# tcmalloc, for the program: one thread allocates what another frees all the time, which costs
# glibc's allocator a fifth of the time of a guarded request, and its arenas grow and shrink.
if(NOT ONCEGUARD_SANITIZE)
  find_library(ONCEGUARD_TCMALLOC NAMES tcmalloc_minimal libtcmalloc_minimal.so.4 REQUIRED)
endif()
