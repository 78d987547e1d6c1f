# The program starts without most of the libraries that it is linked with: each of their functions
# that it uses is a stub of a few instructions, and the first call of one loads its library. A run
# of `onceguard exec` on SQLite needs none of them, and their start takes longer than its work.
#
# This file is a module, and a script: cmake -D… -P lazy_libraries.cmake writes the stubs.

# What is loaded late; data that they export can't be. Their names as find_library has them.
set(onceguard_lazy_names pq curl rdkafka rabbitmq nats hiredis ssl crypto z seccomp)
# SHA-256 is what every run needs: its few functions come from OpenSSL's archive.
set(onceguard_eager_functions "^(SHA256_.*|OPENSSL_cleanse|CRYPTO_memcmp)$")

# Gives the program stubs. Only where the instructions are known, and not under a sanitizer, which
# wants to see the libraries from the beginning.
function(onceguard_load_late program)
  if(ONCEGUARD_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    return()
  endif()
  find_library(ONCEGUARD_CRYPTO_ARCHIVE libcrypto.a REQUIRED)
  mark_as_advanced(ONCEGUARD_CRYPTO_ARCHIVE)
  foreach(name IN LISTS onceguard_lazy_names)
    find_library(ONCEGUARD_LAZY_${name} ${name} REQUIRED)
    mark_as_advanced(ONCEGUARD_LAZY_${name})
    list(APPEND libraries ${ONCEGUARD_LAZY_${name}})
  endforeach()
  onceguard_reachable(cli linked)
  foreach(room IN LISTS linked ITEMS cli)
    get_target_property(type onceguard_room_${room} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND archives $<TARGET_FILE:onceguard_room_${room}>)
      list(APPEND rooms onceguard_room_${room})
    endif()
  endforeach()
  set(stubs ${PROJECT_BINARY_DIR}/generated/late_functions.c)
  add_custom_command(OUTPUT ${stubs}
    COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DREADELF=${CMAKE_READELF}"
      "-DARCHIVES=${archives}" "-DLIBRARIES=${libraries}" "-DOUTPUT=${stubs}"
      -P ${PROJECT_SOURCE_DIR}/cmake/lazy_libraries.cmake
    DEPENDS ${rooms} ${PROJECT_SOURCE_DIR}/cmake/lazy_libraries.cmake VERBATIM)
  target_sources(${program} PRIVATE ${stubs})
  set_source_files_properties(${stubs} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # Options stand before the libraries, of which none is needed at the start any more; the archive
  # among them gives what is undefined by then.
  target_link_options(${program} PRIVATE -Wl,--as-needed -Wl,--undefined=SHA256_Init
    -Wl,--undefined=SHA256_Update -Wl,--undefined=SHA256_Final ${ONCEGUARD_CRYPTO_ARCHIVE})
  target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS})
endfunction()

# --- the script -----------------------------------------------------------------------------------

# The package of Debian's that has this library here; empty: there are no such packages.
function(onceguard_package_of soname result)
  set(${result} "" PARENT_SCOPE)
  find_program(DPKG_QUERY dpkg-query)
  if(DPKG_QUERY)
    execute_process(COMMAND ${DPKG_QUERY} --search "*/${soname}" OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "^([a-z0-9.+-]+)[:,]")
      set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(onceguard_write_late_functions)
  foreach(library IN LISTS LIBRARIES)
    execute_process(COMMAND ${READELF} -d ${library}
      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    if(NOT text MATCHES "SONAME[^\n]*\\[([^]]+)\\]")
      message(FATAL_ERROR "${library} has no SONAME")
    endif()
    set(soname ${CMAKE_MATCH_1})
    list(APPEND sonames ${soname})
    execute_process(COMMAND ${NM} -D --defined-only --format=posix ${library}
      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_]+[^ \n]* [TWi] " lines "${text}")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "[A-Za-z0-9_]+" function "${line}")
      if(NOT DEFINED home_of_${function})
        set(home_of_${function} ${soname})
      endif()
    endforeach()
  endforeach()
  execute_process(COMMAND ${NM} -u --format=posix ${ARCHIVES}
    OUTPUT_VARIABLE text ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "(^|\n)[A-Za-z][A-Za-z0-9_]* U" lines "${text}")
  list(TRANSFORM lines REPLACE "[\n ]|U$" "")
  list(REMOVE_DUPLICATES lines)
  list(SORT lines)
  set(out "/* Made by cmake/lazy_libraries.cmake; src/cli/late/late_library.cpp says how. */\n")
  foreach(function IN LISTS lines)
    if(DEFINED home_of_${function} AND NOT function MATCHES "${onceguard_eager_functions}")
      string(APPEND out "LATE(${function}, \"${home_of_${function}}\")\n")
    endif()
  endforeach()
  string(APPEND out "const struct onceguard_late_library onceguard_late_libraries[] = {\n")
  foreach(soname IN LISTS sonames)
    onceguard_package_of(${soname} package)
    string(APPEND out "    {\"${soname}\", \"${package}\"},\n")
  endforeach()
  file(WRITE ${OUTPUT} "#include \"cli/late/stub.h\"\n${out}    {0, 0}};\n")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  onceguard_write_late_functions()
endif()
