# The outside libraries: how the target of each is found. The build uses this file, and so does the
# installed package, for the components that somebody asks for.
# Everything comes from Debian 12 packages; nothing is vendored or downloaded. In the build, a
# missing one is an error, never a feature that silently goes away.

# onceguard_find(TARGET [REQUIRED | QUIET])
macro(onceguard_find target)
  if(TARGET ${target})
  elseif("${target}" STREQUAL "Boost::headers") # Asio and System are used header-only
    find_package(Boost 1.81 CONFIG ${ARGN})
  elseif("${target}" STREQUAL "Threads::Threads")
    find_package(Threads ${ARGN})
  elseif("${target}" MATCHES "^OpenSSL::")
    find_package(OpenSSL 3.0 COMPONENTS Crypto SSL ${ARGN})
  elseif("${target}" STREQUAL "ZLIB::ZLIB")
    find_package(ZLIB ${ARGN})
  elseif("${target}" STREQUAL "SQLite::SQLite3")
    find_package(SQLite3 3.40 ${ARGN})
  elseif("${target}" STREQUAL "PostgreSQL::PostgreSQL")
    find_package(PostgreSQL 15 ${ARGN})
  elseif("${target}" STREQUAL "onceguard::hiredis") # its reader of replies only
    onceguard_find_files(hiredis HEADER hiredis/read.h LIBRARY hiredis ${ARGN})
  elseif("${target}" STREQUAL "onceguard::librabbitmq")
    onceguard_find_files(librabbitmq HEADER amqp.h LIBRARY rabbitmq ${ARGN})
  elseif("${target}" STREQUAL "onceguard::libnats")
    onceguard_find_files(libnats HEADER nats/nats.h LIBRARY nats ${ARGN})
  elseif("${target}" STREQUAL "onceguard::librdkafka")
    onceguard_find_files(librdkafka HEADER librdkafka/rdkafka.h LIBRARY rdkafka ${ARGN})
  elseif("${target}" STREQUAL "onceguard::libseccomp")
    onceguard_find_files(libseccomp HEADER seccomp.h LIBRARY seccomp ${ARGN})
  elseif("${target}" STREQUAL "onceguard::xxhash") # compiled in
    onceguard_find_files(xxhash HEADER xxhash.h ${ARGN})
  elseif("${target}" STREQUAL "onceguard::toml") # compiled in
    onceguard_find_files(toml HEADER toml++/toml.h ${ARGN})
  elseif("${target}" STREQUAL "onceguard::prometheus") # the model of metrics and its text form only
    onceguard_find_files(prometheus HEADER prometheus/text_serializer.h
      LIBRARY prometheus-cpp-core ${ARGN})
  elseif("${target}" STREQUAL "nlohmann_json::nlohmann_json")
    find_package(nlohmann_json 3.11 ${ARGN})
  elseif("${target}" STREQUAL "CLI11::CLI11")
    find_package(CLI11 2.1 ${ARGN})
  elseif("${target}" STREQUAL "fmt::fmt")
    find_package(fmt 9 ${ARGN})
  elseif("${target}" STREQUAL "CURL::libcurl")
    find_package(CURL 7.85 ${ARGN})
  elseif("${target}" STREQUAL "httplib::httplib") # a project may have it in its own build
    onceguard_find_by_pkg_config(httplib::httplib cpp-httplib ${ARGN})
  elseif("${target}" STREQUAL "onceguard::libpistache")
    onceguard_find_by_pkg_config(onceguard::libpistache libpistache ${ARGN})
  elseif("${target}" STREQUAL "restinio::restinio") # uses fmt, and does not look for it
    onceguard_find(fmt::fmt ${ARGN})
    if(TARGET fmt::fmt)
      find_package(restinio CONFIG ${ARGN})
    endif()
  elseif("${target}" STREQUAL "onceguard::llhttp")
    include(${PROJECT_SOURCE_DIR}/cmake/llhttp.cmake)
  else()
    message(FATAL_ERROR "cmake/dependencies.cmake does not know the target ${target}")
  endif()
endmacro()

# A library without a package of CMake's: the target onceguard::NAME.
function(onceguard_find_files name)
  cmake_parse_arguments(FILES "REQUIRED;QUIET" "HEADER;LIBRARY" "" ${ARGN})
  set(required "")
  if(FILES_REQUIRED)
    set(required REQUIRED)
  endif()
  string(TOUPPER ${name} upper)
  find_path(ONCEGUARD_${upper}_INCLUDE ${FILES_HEADER} ${required})
  mark_as_advanced(ONCEGUARD_${upper}_INCLUDE)
  if(FILES_LIBRARY)
    find_library(ONCEGUARD_${upper}_LIBRARY ${FILES_LIBRARY} ${required})
    mark_as_advanced(ONCEGUARD_${upper}_LIBRARY)
  endif()
  if(ONCEGUARD_${upper}_INCLUDE AND (NOT FILES_LIBRARY OR ONCEGUARD_${upper}_LIBRARY))
    add_library(onceguard::${name} INTERFACE IMPORTED GLOBAL)
    set_target_properties(onceguard::${name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES ${ONCEGUARD_${upper}_INCLUDE}
      INTERFACE_LINK_LIBRARIES "${ONCEGUARD_${upper}_LIBRARY}")
  endif()
endfunction()

# A library that pkg-config knows, with the flags that it was compiled with.
function(onceguard_find_by_pkg_config target name)
  find_package(PkgConfig ${ARGN})
  if(PkgConfig_FOUND)
    string(MAKE_C_IDENTIFIER ONCEGUARD_${name} variable)
    pkg_check_modules(${variable} ${ARGN} IMPORTED_TARGET GLOBAL ${name})
  endif()
  if(TARGET PkgConfig::${variable})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(${target} INTERFACE PkgConfig::${variable})
  endif()
endfunction()
