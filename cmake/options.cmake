# How our own sources are compiled: nothing of it reaches a project that uses the library.
add_library(onceguard_options INTERFACE)
target_compile_features(onceguard_options INTERFACE cxx_std_20)
# The objects serve the program, the archives and the shared library. Names are visible, or types of
# Boost's and the standard library's that cross the border of the shared library would be there
# twice; no call within the library is thought to be replaced from outside.
target_compile_options(onceguard_options INTERFACE
  -fPIC -fno-semantic-interposition -fno-omit-frame-pointer)
target_compile_definitions(onceguard_options INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(onceguard_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(ONCEGUARD_WARNINGS_ARE_ERRORS)
    target_compile_options(onceguard_options INTERFACE -Werror)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside optimised standard library code.
  target_compile_options(onceguard_options INTERFACE
    -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
    -Wno-stringop-overread -Wno-dangling-pointer -Wno-free-nonheap-object
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-mismatched-new-delete>)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a file of several, gcc takes an anonymous namespace for one of a header.
  target_compile_options(onceguard_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # In a file of several, it takes a name for hidden that is another file's own.
  target_compile_options(onceguard_options INTERFACE -Wno-shadow)
endif()
if(ONCEGUARD_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Asio's fences beside its locks are not modelled, and not needed to see its order.
  target_compile_options(onceguard_options INTERFACE -Wno-tsan)
endif()
if(ONCEGUARD_SANITIZE)
  target_compile_definitions(onceguard_options INTERFACE ONCEGUARD_SANITIZED)
  target_compile_options(onceguard_options INTERFACE
    -fsanitize=${ONCEGUARD_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(onceguard_options INTERFACE -fsanitize=${ONCEGUARD_SANITIZE})
endif()
if(ONCEGUARD_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A program with a sanitizer and lines is some hundred megabytes: lld links it in a quarter of the
  # time, where it is installed. (The stubs of lazy_libraries.cmake, which are for the others, need
  # the order in which GNU's linker takes symbols.)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld ONCEGUARD_HAS_LLD)
  if(ONCEGUARD_HAS_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
onceguard_find(Boost::headers REQUIRED)
onceguard_find(Threads::Threads REQUIRED)
target_link_libraries(onceguard_options INTERFACE Boost::headers Threads::Threads)
target_include_directories(onceguard_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# One precompiled header for the expensive library headers, shared by all rooms and tests. Within
# another project there is none: its flags are not known.
if(PROJECT_IS_TOP_LEVEL)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Else clang refuses a precompiled header out of ccache, when a file is younger than its build.
    target_compile_options(onceguard_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  add_library(onceguard_pch STATIC ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
  target_link_libraries(onceguard_pch PUBLIC onceguard_options)
  target_precompile_headers(onceguard_pch PUBLIC ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)
endif()
