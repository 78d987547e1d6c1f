# Targets of the rooms (cmake/rooms.ini), of the program and of the fuzzers.
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
target_link_libraries(onceguard_options INTERFACE onceguard_asio)
target_include_directories(onceguard_options INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)

# One precompiled header for the expensive library headers, shared by all rooms and tests.
add_library(onceguard_pch STATIC ${PROJECT_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(onceguard_pch PUBLIC onceguard_options onceguard_asio)
target_precompile_headers(onceguard_pch PUBLIC ${PROJECT_SOURCE_DIR}/cmake/pch.hpp)

# Reads cmake/rooms.ini and makes a target of each room. A folder of src/ that is no room is an
# error.
function(onceguard_rooms)
  set(list ${PROJECT_SOURCE_DIR}/cmake/rooms.ini)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    if(line MATCHES "^\\[(.+)\\]$")
      set(room ${CMAKE_MATCH_1})
      list(APPEND rooms ${room})
    elseif(line MATCHES "^(folder|uses|links) = (.*)$")
      set(key ${CMAKE_MATCH_1})
      string(REPLACE " " ";" ${room}_${key} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  foreach(room IN LISTS rooms)
    list(APPEND folders ${${room}_folder})
  endforeach()
  onceguard_check_folders("${folders}")
  foreach(room IN LISTS rooms)
    if(${room}_folder MATCHES "^src/")
      list(REMOVE_ITEM ${room}_uses public)
      list(TRANSFORM ${room}_uses PREPEND onceguard::)
      onceguard_room(${room} "${${room}_folder}" "${folders}" ${${room}_uses} ${${room}_links})
    endif()
  endforeach()
endfunction()

# Every source lies in a room, or in a folder of one.
function(onceguard_check_folders folders)
  file(GLOB_RECURSE sources RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.hpp)
  foreach(source IN LISTS sources)
    set(found FALSE)
    foreach(folder IN LISTS folders)
      string(FIND "${source}" "${folder}/" at)
      if(at EQUAL 0)
        set(found TRUE)
      endif()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "${source} lies in no room: add its folder to cmake/rooms.ini")
    endif()
  endforeach()
endfunction()

# A room: what lies in its folder, and in folders of that which are no rooms themselves.
function(onceguard_room name folder folders)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(other IN LISTS folders)
    if(other MATCHES "^${folder}/")
      list(FILTER sources EXCLUDE REGEX "/${other}/")
    endif()
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  set(target onceguard_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC onceguard_options ${ARGN})
    target_precompile_headers(${target} REUSE_FROM onceguard_pch)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE onceguard_options ${ARGN})
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/registration.cpp AND NOT name STREQUAL "store")
    # Nothing of it is called by name: it makes the store known to guard::open.
    target_link_options(${target} INTERFACE LINKER:--undefined=onceguard_${name}_store)
  endif()
  add_library(onceguard::${name} ALIAS ${target})
endfunction()

# The program: the room `cli` and its main.cpp.
function(onceguard_program)
  add_executable(onceguard ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  target_link_libraries(onceguard PRIVATE onceguard::cli)
  set_target_properties(onceguard PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(ONCEGUARD_TCMALLOC)
    # Nothing of it is called by name, and it is needed all the same.
    target_link_libraries(onceguard PRIVATE
      -Wl,--push-state,--no-as-needed ${ONCEGUARD_TCMALLOC} -Wl,--pop-state)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_link_options(onceguard PRIVATE -s)
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
