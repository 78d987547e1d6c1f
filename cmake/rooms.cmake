# A room is a folder below src/ and the target onceguard::NAME; its sources are what lies in it.
add_library(onceguard_options INTERFACE)
target_compile_options(onceguard_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these inside optimised standard library code.
  target_compile_options(onceguard_options INTERFACE
    -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds
    -Wno-stringop-overread -Wno-dangling-pointer -Wno-free-nonheap-object
    -Wno-mismatched-new-delete)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a file of several, gcc takes an anonymous namespace for one of a header.
  target_compile_options(onceguard_options INTERFACE -Wno-subobject-linkage)
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
  target_compile_options(onceguard_options INTERFACE
    -fsanitize=${ONCEGUARD_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(onceguard_options INTERFACE -fsanitize=${ONCEGUARD_SANITIZE})
endif()
target_include_directories(onceguard_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# One precompiled header for the expensive library headers, shared by all rooms and tests.
add_library(onceguard_pch STATIC ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(onceguard_pch PUBLIC onceguard_options onceguard_asio)
target_precompile_headers(onceguard_pch PUBLIC ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)

function(onceguard_room name)
  cmake_parse_arguments(ROOM "" "IN;EXECUTABLE" "USES" ${ARGN})
  if(NOT ROOM_IN)
    set(ROOM_IN ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${ROOM_IN}/*.cpp
       ${PROJECT_SOURCE_DIR}/src/${ROOM_IN}/*/*.cpp)
  if(ROOM_IN STREQUAL "store")
    list(FILTER sources EXCLUDE REGEX "/src/store/[^/]+/")
  endif()
  set(target onceguard_${name})
  set(library_sources ${sources})
  list(FILTER library_sources EXCLUDE REGEX "/main\\.cpp$")
  if(library_sources)
    add_library(${target} STATIC ${library_sources})
    target_link_libraries(${target} PUBLIC onceguard_options ${ROOM_USES})
    target_precompile_headers(${target} REUSE_FROM onceguard_pch)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE onceguard_options ${ROOM_USES})
  endif()
  add_library(onceguard::${name} ALIAS ${target})
  if(ROOM_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/src/${ROOM_IN}/main.cpp)
    add_executable(${ROOM_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/${ROOM_IN}/main.cpp)
    target_link_libraries(${ROOM_EXECUTABLE} PRIVATE ${target})
    set_target_properties(${ROOM_EXECUTABLE} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    if(ONCEGUARD_TCMALLOC)
      # Nothing of it is called by name, and it is needed all the same.
      target_link_libraries(${ROOM_EXECUTABLE} PRIVATE
        -Wl,--push-state,--no-as-needed ${ONCEGUARD_TCMALLOC} -Wl,--pop-state)
    endif()
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_link_options(${ROOM_EXECUTABLE} PRIVATE -s)
    endif()
  endif()
endfunction()

# Each tests/**/NAME_fuzz.cpp is a libFuzzer target of that name.
function(onceguard_fuzzers)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "the fuzz targets need clang: cmake --preset fuzz")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*_fuzz.cpp)
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE onceguard::config)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endfunction()
